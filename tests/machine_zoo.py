"""All machines, the kernels they are tried on, and the checks of scikit-learn that cannot apply."""

import numpy as np

import gramsmith as gs

CLASSIFIERS = (
    gs.ParzenClassifier,
    gs.CentroidClassifier,
    gs.KernelFisherDiscriminant,
    gs.KernelPerceptron,
    gs.KernelRidgeClassifier,
    gs.KernelLogisticRegression,
    gs.ImportVectorClassifier,
    gs.RelevanceVectorClassifier,
    gs.L2SVC,
)
REGRESSORS = (gs.KernelRidgeRegressor, gs.RelevanceVectorRegressor)
MACHINES = CLASSIFIERS + REGRESSORS
WEIGHTED = tuple(machine for machine in MACHINES if machine is not gs.KernelPerceptron)
PROBABILISTIC = (
    gs.KernelFisherDiscriminant,
    gs.KernelLogisticRegression,
    gs.ImportVectorClassifier,
    gs.RelevanceVectorClassifier,
)


def kernels():
    """The kernels with the longest way through a machine: none, a composed one, a matrix."""
    return None, gs.Gaussian(1.5) + 0.1 * gs.Linear() + gs.Constant(0.5), "precomputed"


def plain_kernels():
    """Single kernels of vectors."""
    return gs.Gaussian(2.0), gs.Linear(), gs.Polynomial(2, 0.1)


def expected_failures(estimator):
    """What scikit-learn's checks cannot ask of a machine: name of the check -> reason."""
    precomputed = isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"
    if precomputed and isinstance(estimator, PROBABILISTIC):
        return {"check_decision_proba_consistency": "passes vectors to a machine of Gram matrices"}
    return {}


def strings(n=40, seed=0, classes=2):
    """Random DNA of several lengths; classes differ in the motif they carry."""
    rng = np.random.default_rng(seed)
    motifs = ("ACGTACGT", "TTTTGGGG", "CACACACA")[:classes]
    texts, labels = [], []
    for i in range(n):
        noise = "".join(rng.choice(list("ACGT"), size=rng.integers(8, 16)))
        cut = rng.integers(len(noise))
        texts.append(noise[:cut] + motifs[i % classes] + noise[cut:])
        labels.append(f"motif {i % classes}")
    return texts, np.array(labels)


def points(n=60, seed=0, classes=2):
    """Overlapping clouds in three dimensions."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % classes
    X = rng.normal(size=(n, 3)) + 1.6 * np.eye(3)[codes]
    return X, codes

"""All machines, the kernels they are tried on, and the checks of scikit-learn that cannot apply."""

import numpy as np
from sklearn.base import is_classifier

import gramsmith as gs
from gramsmith import machines

MACHINES = tuple(item for item in vars(machines).values() if isinstance(item, type))
CLASSIFIERS = tuple(machine for machine in MACHINES if is_classifier(machine()))
REGRESSORS = tuple(machine for machine in MACHINES if machine not in CLASSIFIERS)
WEIGHTED = tuple(machine for machine in MACHINES if machine is not gs.KernelPerceptron)
PROBABILISTIC = (
    gs.KernelFisherDiscriminant,
    gs.KernelLogisticRegression,
    gs.KernelLossClassifier,
    gs.ImportVectorClassifier,
    gs.RelevanceVectorClassifier,
)
# Machines that choose a regulariser, precisions or a threshold unless they are told.
CHOOSING = (
    gs.KernelRidgeRegressor,
    gs.KernelRidgeClassifier,
    gs.KernelLossClassifier,
    gs.KernelLogisticRegression,
    gs.ImportVectorClassifier,
    gs.RelevanceVectorRegressor,
    gs.RelevanceVectorClassifier,
    gs.ParzenClassifier,
)
# Of these, those that can be told.
_TOLD = {
    gs.KernelRidgeRegressor: {"alpha": 0.5},
    gs.KernelRidgeClassifier: {"alpha": 0.5},
    gs.KernelLossClassifier: {"alpha": 1.0},
    gs.KernelLogisticRegression: {"alpha": 1.0},
    gs.ImportVectorClassifier: {"alpha": 1.0},
    gs.ParzenClassifier: {"threshold": 0.0},
    gs.KernelSVC: {"tol": 1e-9},
    gs.KernelSVR: {"tol": 1e-9},
}
EVIDENCE = (gs.RelevanceVectorRegressor, gs.RelevanceVectorClassifier)
FIXED = tuple(machine for machine in WEIGHTED if machine not in EVIDENCE)


def fixed(machine, kernel=None, **options):
    """A machine that chooses nothing."""
    return machine(kernel, **{**_TOLD.get(machine, {}), **options})


def kernels():
    """Kernels whose ways through a machine differ: single, composed, a matrix."""
    composed = gs.Gaussian(1.5) + 0.1 * gs.Linear() + gs.Constant(0.5)
    return gs.Gaussian(2.0), gs.Linear(), gs.Polynomial(2, 0.1), composed, "precomputed"


def expected_failures(estimator):
    """What scikit-learn's checks cannot ask of a machine: name of the check -> reason."""
    precomputed = isinstance(estimator.kernel, str) and estimator.kernel == "precomputed"
    if precomputed and isinstance(estimator, PROBABILISTIC):
        return {"check_decision_proba_consistency": "passes vectors to a machine of Gram matrices"}
    reason = None
    if isinstance(estimator, gs.KernelSVC | gs.KernelSVR):
        reason = "LIBSVM stops at a tolerance: weights and repetitions agree to it, not to 1e-7"
    elif isinstance(estimator, CHOOSING):
        reason = (
            "a weight says how much a row counts, not how many rows there are: leaving one out to "
            "choose a regulariser leaves the whole row out, and a repeated row is two rows"
        )
    if reason is not None and not precomputed:
        return {
            f"check_sample_weight_equivalence_on_{kind}_data": reason
            for kind in ("dense", "sparse")
        }
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


def learners():
    """One learner of each class, quickly fitted and without an amount that is cross-fitted."""
    return [
        gs.TransformLearner(max_iter=5, keep=1.0),
        gs.KernelLearner(max_iter=5, keep=1.0),
        gs.TwoGaussianLearner(keep=1.0),
        gs.KernelCombination(keep=1.0),
        gs.SpectralAligner(keep=1.0),
        gs.ForestLearner(n_estimators=5, random_state=0, keep=1.0),
    ]

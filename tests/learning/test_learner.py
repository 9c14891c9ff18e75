"""What every learner owes its user: errors as they are, options that count, units and weights."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import gramsmith as gs
from gramsmith.learning import penalty_path
from gramsmith.learning.learner import Learner, Path
from gramsmith.learning.objective import KernelObjective
from gramsmith.targets import make_target

MEMBERS = [gs.Gaussian(s) for s in (0.5, 1.0, 3.0)]


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(80, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "up", "down")


class NeedsRows:
    """A polarity that fails where there are few rows, as folds have."""

    name = "needs_rows"
    higher_is_better = True

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, K, target, derivative):
        if len(K) < 80:
            raise self.kind("my own mistake")
        T = target.V @ target.M_centred @ target.V.T / len(K) ** 2
        return np.vdot(K, T), T if derivative else None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [ValueError, np.linalg.LinAlgError, ZeroDivisionError])
@pytest.mark.parametrize(
    "learner",
    [
        gs.TransformLearner(max_iter=2),
        gs.KernelLearner(gs.Gaussian(1.0), max_iter=2),
        gs.TwoGaussianLearner(n_grid=4, max_iter=2),
        gs.KernelCombination(MEMBERS),
        gs.SpectralAligner(gs.Gaussian(1.0)),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_errors_of_an_objective_in_folds_are_errors(learner, kind, parity):
    with pytest.raises(kind, match="my own mistake"):
        clone(learner).set_params(measure=NeedsRows(kind)).fit(*parity)


@pytest.mark.parametrize(
    "option",
    [
        {"measure": "cka"},
        {"l1": 0.1},
        {"l2": 1.0},
        {"C": 10.0},
        {"tol": 1e-3},
        {"dtype": "float32"},
        {"early_stopping": True},
        {"patience": 3},
        {"validation_fraction": 0.5},
        {"init": np.eye(4)[:, :2], "structure": "low_rank"},
    ],
)
def test_outer_products_refuse_what_has_no_effect(option, parity):
    learner = gs.TransformLearner(solver="outer_product", **option)
    with pytest.raises(ValueError, match=f"nothing to optimise .*got {next(iter(option))}="):
        learner.fit(*parity)


def test_what_has_no_effect_is_refused(parity):
    with pytest.raises(ValueError, match="which takes no penalty"):
        penalty_path(*parity, learner=gs.TransformLearner(solver="outer_product"))
    with pytest.raises(ValueError, match=r"structure=.low_rank. with rank=2, got .*diagonal"):
        gs.TransformLearner(rank=2).fit(*parity)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("structure", ["diagonal", "full", "low_rank"])
def test_the_map_of_every_iteration_reaches_the_callback(structure, parity):
    X, y = parity
    values = []

    def callback(info):
        S = info["S"]
        kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(S)
        values.append((info["value"], gs.cka(gs.Gram(kernel, X), y)))

    options = {"structure": structure, "measure": "cka", "l1": 0.0, "max_iter": 4}
    learner = gs.TransformLearner(keep=1.0, callback=callback, random_state=0, **options).fit(X, y)
    said, seen = np.transpose(values)
    np.testing.assert_allclose(said, seen, rtol=1e-8)
    assert learner.value_ == said.max()
    np.testing.assert_allclose(learner.history_["value"], said)


def test_parameters_of_every_iteration_reach_the_callback(parity):
    widths = []
    learner = gs.KernelLearner(
        gs.Gaussian(1.0), keep=1.0, callback=lambda info: widths.append(info["length_scale"])
    ).fit(*parity)
    assert len(widths) == learner.n_iter_ + 1
    assert learner.kernel_.length_scale in widths


@pytest.mark.parametrize("options", [{"rank": 2}, {}, {"rank": 2, "solver": "outer_product"}])
def test_a_low_rank_map_does_not_depend_on_the_unit(options, rng):
    X = rng.normal(size=(120, 6))
    y = np.sin(X @ np.r_[1.0, 1.0, np.zeros(4)]) + 0.1 * rng.normal(size=120)
    new = rng.normal(size=(100, 6))
    predictions = []
    for unit in (1.0, 100.0, 1e-3):
        learner = gs.TransformLearner(structure="low_rank", random_state=0, **options)
        learner.fit(unit * X, y)
        machine = gs.KernelRidgeRegressor(learner.kernel_).fit(unit * X, y)
        predictions.append(machine.predict(unit * new))
    np.testing.assert_allclose(predictions[1], predictions[0], atol=1e-4)
    np.testing.assert_allclose(predictions[2], predictions[0], atol=1e-4)


@pytest.mark.parametrize("cv", [None, KFold(3)])
@pytest.mark.parametrize("as_matrix", [False, True])
def test_rows_of_weight_zero_change_no_fold(cv, as_matrix, rng):
    X = rng.normal(size=(90, 3))
    y, w = X[:, 0] * X[:, 1] > 0, np.repeat([0.0, 1.0, 1.0], 30)
    for seed in range(3):
        learner = gs.KernelCombination(MEMBERS, cv=cv, random_state=seed)
        aligner = gs.SpectralAligner(gs.Gaussian(1.0), cv=cv, random_state=seed)
        if as_matrix:
            K = [kernel(X) for kernel in MEMBERS]
            some = [M[30:, 30:] for M in K]
            learner.set_params(kernels=None)
            aligner.set_params(kernel="precomputed")
            pairs = ((learner, K, some), (aligner, K[1], some[1]))
        else:
            pairs = ((learner, X, X[30:]), (aligner, X, X[30:]))
        for model, everything, part in pairs:
            weighted = clone(model).fit(everything, y, sample_weight=w)
            dropped = clone(model).fit(part, y[30:])
            a, b = weighted.keep_curve_["loss"], dropped.keep_curve_["loss"]
            np.testing.assert_allclose(a, b, rtol=1e-9)
            if model is aligner and as_matrix:
                mapped = weighted.transform(K[1][:5]), dropped.transform(K[1][:5, 30:])
                np.testing.assert_allclose(*(np.abs(U) for U in mapped), atol=1e-6)


def two_kernels(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.sin(rng.uniform(1, 6) * X[:, 0]) + X[:, 1] + rng.uniform(0.05, 0.5) * rng.normal(size=40)
    kernels = [gs.Gaussian(s) for s in np.exp(rng.uniform(np.log(0.05), np.log(5), 2))]
    return X, y, kernels


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("measure", ["ridge_loo", "hsic"])
def test_weights_are_the_best_of_a_grid(measure):
    for seed in range(12):
        X, y, kernels = two_kernels(seed)
        learner = gs.KernelCombination(kernels, measure=measure, keep=1.0).fit(X, y)
        sign = 1.0 if measure == "hsic" else -1.0
        objective = KernelObjective(measure, X, make_target(y))
        angles = np.r_[0.0, np.arctan(np.logspace(-4, 4, 60)), np.pi / 2]
        best = max(
            sign * objective.value(np.cos(t) * kernels[0] + np.sin(t) * kernels[1])
            for t in angles[1:-1]
        )
        assert sign * learner.value_ >= best - 1e-3 * abs(best)
        assert np.linalg.norm(learner.weights_) == pytest.approx(1.0)


def test_a_learner_of_your_own_is_a_search(parity):
    class Spread(Path):
        def kernel(self, amount, width=None):
            return gs.Gaussian(np.exp(amount) / (width or 1.0))

    class Guess(Learner):
        def __init__(self, keep="cross_fit", random_state=None):
            self.keep = keep
            self.random_state = random_state

        def search(self, X, target, rng):
            return Spread(value=float(len(X)), has_width=True)

    X, y = parity
    learner = Guess(random_state=0).fit(X, y, sample_weight=np.arange(80) > 9, groups=X[:, 0] > 0)
    assert learner.keep_ in learner.keep_curve_["amount"]
    assert learner.value_ == 70.0
    assert clone(learner).set_params(keep=1.0).fit(X, y).kernel_.length_scale == np.exp(1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "learner",
    [
        gs.KernelLearner(gs.Gaussian(np.ones(4)), random_state=0),
        gs.TransformLearner(random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_what_is_kept_is_said(learner, rng, capsys):
    X, y = rng.normal(size=(60, 4)), rng.permutation(np.repeat([0, 1], 30))
    with pytest.raises(AttributeError):
        learner.outcome_  # noqa: B018
    noise = clone(learner).set_params(verbose=1).fit(X, y)
    assert noise.keep_ == 0.0
    assert noise.outcome_.startswith("Nothing of what was learned is kept")
    assert noise.outcome_ in capsys.readouterr().out
    loss = noise.keep_curve_["loss"]
    assert f"{loss[0]:.4g}" in noise.outcome_
    everything = clone(learner).set_params(keep=1.0).fit(X, y)
    assert everything.outcome_.startswith("All of what was learned is kept")
    part = clone(learner).set_params(keep=0.5).fit(X, y)
    assert part.outcome_.startswith("50 % of what was learned is kept")
    none = clone(learner).set_params(keep=0.0).fit(X, y)
    assert none.outcome_ == "Nothing of what was learned is kept, as keep=0 asks."

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectFromModel
from sklearn.svm import SVC

import gramsmith as gs
from gramsmith.kernels import NotDifferentiable
from oracle import textbook as tb
from oracle.plain_learners import TransformLearner


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(120, 5))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "up", "down")


@pytest.mark.parametrize("structure", ["diagonal", "full", "low_rank"])
def test_every_structure_climbs(structure, parity):
    X, y = parity
    learner = TransformLearner(structure=structure, early_stopping=False, l1=0.0, random_state=0)
    learner.fit(X, y)
    values = learner.history_["value"]
    assert values[-1] > values[0] + 0.05
    assert learner.value_ == max(values)
    assert gs.cka(learner.kernel_(X), y) == pytest.approx(learner.value_, abs=1e-9)
    S = learner.components_.T
    K = tb.gaussian(X @ S, length_scale=np.sqrt(0.5))
    np.testing.assert_allclose(learner.kernel_(X), K, atol=1e-10)
    np.testing.assert_allclose(learner.transform(X), X @ S)


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", "laplacian", gs.Matern(nu=2.5), gs.RationalQuadratic()]
)
def test_other_kernels(kernel, parity):
    X, _ = parity
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    learner = TransformLearner(kernel, tol=1e-4).fit(X, y)
    assert learner.feature_importances_[:2].sum() > 0.7


@pytest.mark.parametrize("target", ["classes", "values", "outputs", "imbalanced"])
def test_every_target(target, parity):
    X, _ = parity
    y = {
        "classes": np.digitize(X[:, 0], [-0.5, 0.5]),
        "values": X[:, 0] ** 2 + 0.1 * X[:, 1],
        "outputs": np.column_stack([X[:, 0], X[:, 0] ** 2]),
        "imbalanced": X[:, 0] > 1.0,
    }[target]
    scheme = "imbalanced" if target == "imbalanced" else "auto"
    learner = TransformLearner(target=scheme, measure="kta" if scheme == "imbalanced" else "cka")
    assert learner.fit(X, y).feature_importances_.argmax() == 0


def test_whole_numbers_can_be_values(parity):
    X, _ = parity
    y = np.round(3 * X[:, 0] ** 2).astype(int)
    assert TransformLearner(task="regression").fit(X, y).feature_importances_[0] > 0.9


@pytest.mark.parametrize(("l1", "share"), [(0.0, 0.9), (0.01, 0.95)])
def test_informative_features_get_the_weight(l1, share, rng):
    """Three of thirty features matter; the learned map beats the isotropic kernel on new data."""
    X = rng.normal(size=(1300, 30))
    y = (X[:, :3] ** 2).sum(axis=1) > 2.366
    train, test = slice(0, 300), slice(300, None)
    learner = TransformLearner(l1=l1).fit(X[train], y[train])
    assert learner.feature_importances_[:3].sum() > share
    learned = SVC(kernel=learner.kernel_).fit(X[train], y[train]).score(X[test], y[test])
    isotropic = SVC(kernel="rbf").fit(X[train], y[train]).score(X[test], y[test])
    assert 1 - learned < 0.5 * (1 - isotropic)


def test_penalty_removes_features(parity):
    X, y = parity
    free = TransformLearner().fit(X, y)
    sparse = TransformLearner(l1=0.02).fit(X, y)
    removed = sparse.feature_importances_ == 0
    assert removed[2:].all()
    assert not removed[:2].any()
    ridge = TransformLearner(l2=0.1).fit(X, y)
    assert np.linalg.norm(ridge.components_) < np.linalg.norm(free.components_)


def test_penalty_of_rows_for_a_full_map(parity):
    X, y = parity
    learner = TransformLearner(structure="full", l1=0.1, early_stopping=False).fit(X, y)
    free = TransformLearner(structure="full", early_stopping=False).fit(X, y)
    assert learner.feature_importances_[2:].sum() < 0.5 * free.feature_importances_[2:].sum()


def test_select_from_model(parity):
    X, y = parity
    chosen = SelectFromModel(TransformLearner(l1=0.02), threshold=1e-6).fit(X, y)
    assert chosen.get_support().tolist() == [True, True, False, False, False]
    assert chosen.transform(X).shape == (120, 2)


def test_early_stopping_is_asked_for(parity):
    X, y = parity
    plain = TransformLearner(structure="full", max_iter=5)
    with pytest.warns(ConvergenceWarning):
        plain.fit(X, y)
    assert "held_out" not in plain.history_
    assert plain.value_ == pytest.approx(gs.cka(plain.kernel_(X), y))  # on all rows
    full = TransformLearner(structure="full", early_stopping=True, random_state=0).fit(X, y)
    held = full.history_["held_out"]
    assert full.value_ == full.history_["value"][held.argmax()]
    few = TransformLearner(structure="full", early_stopping="auto").fit(X[:9], y[:9])
    assert "held_out" not in few.history_
    with pytest.raises(ValueError, match="early_stopping=False"):
        TransformLearner(early_stopping=True).fit(X[:9], y[:9])


def test_early_stopping_of_the_bound_watches_alignment(parity):
    X, y = parity
    learner = TransformLearner(measure="radius_margin", early_stopping=True, random_state=0)
    held = learner.fit(X, y).history_["held_out"]
    assert ((held >= 0) & (held <= 1)).all()


def test_the_given_kernel_is_left_alone(parity):
    kernel = gs.Gaussian(2.0)
    learner = TransformLearner(kernel).fit(*parity)
    assert learner.kernel is kernel
    assert kernel.length_scale == 2.0
    assert learner.kernel_.kernel is not kernel


def test_weights_that_could_grow_without_limit_stay_finite():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0)
    learner = TransformLearner(measure="polarity").fit(X, np.repeat([0, 1], 20))
    assert learner.value_ == pytest.approx(800.0)
    assert np.abs(learner.components_).max() <= 1000.0


def test_weights_near_the_bound_are_reported(parity):
    """The inner product grows with the map, and the polarity with it, without end."""
    X, _ = parity
    with pytest.warns(ConvergenceWarning, match="'unbounded'.*without limit"):
        learner = TransformLearner("linear", measure="polarity").fit(X, X[:, 0] > 0)
    assert np.abs(learner.components_).max() > 100.0 * 3.0 / np.sqrt(2 * X.var(axis=0).sum())


def test_prices_leave_what_a_free_search_needs(parity):
    learner = TransformLearner(l1=0.02, init=None).fit(*parity)
    S = np.diag(learner.components_)
    assert (S[:2] > 0).all()
    assert (S[2:] == 0).all()
    assert max(learner.history_["value"]) > learner.value_  # of the search without the price


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_price_that_was_asked_for_is_charged_in_time(parity):
    assert not TransformLearner(l1=10.0, max_iter=8).fit(*parity).components_.any()


def test_without_iterations_left_spreading_is_free(parity):
    with pytest.warns(ConvergenceWarning):
        found = TransformLearner(max_iter=3).fit(*parity)
    assert np.count_nonzero(found.components_) > 2


UNITS = (1e-4, 1e6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"l1": 0.01},
        {"l2": 0.01},
        {"measure": "kta"},
        {"solver": "ascent"},
        {"kernel": gs.Matern()},
        {"kernel": "laplacian"},
        {"structure": "full"},
        {"structure": "full", "solver": "ascent", "early_stopping": False},
        {"structure": "low_rank"},
        {"solver": "ascent", "batch_size": 40, "max_iter": 40},
        {"structure": "full", "solver": "ascent", "batch_size": 40, "max_iter": 40},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_unit_of_the_data_does_not_matter(options, parity):
    X, y = parity
    one = TransformLearner(random_state=0, **options).fit(X, y)
    for c in UNITS:
        other = TransformLearner(random_state=0, **options).fit(c * X, y)
        assert other.value_ == pytest.approx(one.value_, abs=1e-3)
        # S itself is free up to a rotation.
        metric, same = (m.components_.T @ m.components_ for m in (other, one))
        np.testing.assert_allclose(c**2 * metric, same, atol=0.02)


def test_features_of_very_different_units(parity):
    X, y = parity
    units = np.array([1e-3, 1e2, 1.0, 10.0, 1e-2])
    one, other = TransformLearner().fit(X, y), TransformLearner().fit(X * units, y)
    assert other.value_ == pytest.approx(one.value_, rel=0.02)
    assert other.feature_importances_[:2].sum() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_no_weight_of_zero_would_rather_return(seed):
    """At a maximum, no removed feature raises the measure when it comes back a little."""
    X = np.random.default_rng(seed).normal(size=(200, 20))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2] > 0.5
    learner = TransformLearner(l1=0.0).fit(X, y)
    S = np.diag(learner.components_)
    assert (S == 0).any()
    for k in np.flatnonzero(S == 0):
        lifted = np.where(np.arange(20) == k, 0.02, S)
        K = (gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(lifted))(X)
        assert gs.cka(K, y) < learner.value_ + 1e-7


RULES = {
    "squares": lambda x: x[0] ** 2 + x[1] ** 2 + x[2] ** 2 > 2.366,
    "product": lambda x: x[0] * x[1] + x[2] > 0,
    "linear": lambda x: x[0] + x[1] + x[2] > 0,
    "waves": lambda x: np.sin(2 * x[0]) + x[1] ** 2 - x[2] > 0.5,
    "values": lambda x: np.sin(x[0]) + x[1] ** 2 + x[2],
    "classes": lambda x: np.digitize(x[0] + x[1] * x[2], [-0.6, 0.6]),
}


@pytest.mark.parametrize("rule", RULES)
def test_three_of_thirty_features_get_the_weight(rule):
    for seed in range(2):
        X = np.random.default_rng(seed).normal(size=(300, 30))
        learner = TransformLearner().fit(X, RULES[rule](X.T))
        assert learner.feature_importances_[:3].sum() > 0.9


def test_features_that_all_matter_stay():
    X = np.random.default_rng(0).normal(size=(300, 8))
    learner = TransformLearner().fit(X, X.sum(axis=1) > 0)
    assert (learner.feature_importances_ > 0.05).all()


@pytest.mark.parametrize("structure", ["diagonal", "full"])
@pytest.mark.parametrize("kernel", [gs.Gaussian(), gs.Gaussian(100.0), gs.Gaussian.from_gamma(1.0)])
def test_a_given_kernel_starts_from_the_spread_of_the_data(kernel, structure):
    X = np.random.default_rng(0).normal(size=(150, 20))
    y = (X[:, :3] ** 2).sum(axis=1) > 2.366
    options = {"structure": structure, "random_state": 0}
    default = TransformLearner(**options).fit(X, y)
    given = TransformLearner(kernel, **options).fit(X, y)
    assert given.value_ == pytest.approx(default.value_, abs=1e-4)


@pytest.mark.parametrize("kernel", [gs.Laplacian(), gs.Matern(), gs.Gaussian() + gs.Laplacian()])
def test_other_given_kernels_leave_the_flat_region(kernel):
    X = np.random.default_rng(0).normal(size=(150, 20))
    learner = TransformLearner(kernel).fit(X, (X[:, :3] ** 2).sum(axis=1) > 2.366)
    assert learner.feature_importances_[:3].sum() > 0.8


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_a_start_without_a_value_is_moved(seed):
    """Leave-one-out FSM is infinite where the classes do not separate at all."""
    X = np.random.default_rng(seed).normal(size=(100, 10))
    learner = TransformLearner(measure="fsm_loo").fit(X, X[:, 0] * X[:, 1] > 0)
    assert learner.feature_importances_[:2].sum() > 0.9


def test_a_kernel_driven_to_a_constant_is_reported(parity):
    X, _ = parity
    with pytest.warns(ConvergenceWarning, match="nearly constant"):
        TransformLearner(measure="csm").fit(X, X[:, 0] > 0)


def test_a_penalty_that_removes_everything_is_reported(parity):
    with pytest.warns(ConvergenceWarning, match="removes every feature"):
        learner = TransformLearner(l1=10.0).fit(*parity)
    assert (learner.feature_importances_ == 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "low_rank", "rank": 6}, "1 <= rank <= 5"),
        ({"structure": "low_rank", "rank": 0}, "'rank' parameter .*Got 0"),
        ({"init": "identity"}, "array of numbers"),
        ({"rank": 2.5}, "'rank' parameter .*Got 2.5"),
        ({"max_iter": 0}, "'max_iter' parameter .*Got 0"),
        ({"l2": -0.1}, "'l2' parameter .*Got -0.1"),
        ({"init": np.zeros(5)}, "Zero is stationary"),
        ({"validation_fraction": 1.5}, "'validation_fraction' parameter .*Got 1.5"),
        ({"C": 0.0}, "'C' parameter .*Got 0.0"),
    ],
)
def test_bad_options(options, message, parity):
    with pytest.raises(ValueError, match=message):
        TransformLearner(**options).fit(*parity)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (lambda a, b: a @ b.T, "FromCallable"),
        (gs.Spectrum(2), "Spectrum"),
        (gs.Precomputed(), "Precomputed"),
    ],
)
def test_kernels_without_a_gradient_are_named(kernel, name, parity):
    with pytest.raises(NotDifferentiable, match=name):
        TransformLearner(kernel).fit(*parity)

"""ForestLearner: the trees of scikit-learn, seen through the leaves that rows share."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

import gramsmith as gs
from gramsmith.kernels import Gaussian, Leaves, Sum
from gramsmith.learning.forest import _as_kernel, _between
from tools.onnx_runs import assert_equal

both = pytest.mark.parametrize("method", ["extra_trees", "boosting"])


@pytest.fixture
def steps(rng):
    X = rng.uniform(size=(200, 6))
    return X, np.where((X[:, 0] > 0.3) & (X[:, 1] < 0.6), "in", "out")


def test_rows_are_in_the_leaves_of_scikit_learns_own_tree(rng):
    """Whatever the unit, the offset or an outlier: single precision would lose most of these."""
    X = np.column_stack(
        [rng.normal(size=90), 1e9 + rng.normal(size=90), rng.integers(3, size=90) * 1e-12]
    )
    X[0, 0] = 1e12
    y = X[:, 0].clip(-2, 2) + np.sin(X[:, 1]) + 1e12 * X[:, 2]
    levels, ranks = zip(*(np.unique(x, return_inverse=True) for x in X.T), strict=True)
    trees = [
        DecisionTreeRegressor(max_features=1, splitter=splitter, random_state=seed)
        for seed in range(5)
        for splitter in ("best", "random")
    ]
    R = np.column_stack(ranks)
    expected = np.column_stack([tree.fit(R, y).apply(R) for tree in trees])
    kernel = _as_kernel([tree.tree_ for tree in trees], list(levels))
    np.testing.assert_array_equal(kernel.leaves(X) - np.asarray(kernel.roots), expected)


def test_thresholds_lie_between_the_values():
    values = np.array([-1e308, 1.0, np.nextafter(1.0, 2.0), 5e-324 + 2.0, 1e308])
    for share in (0.0, 0.3, 0.9999):
        found = _between(values, np.arange(4) + share)
        assert (found >= values[:-1]).all()
        assert (found < values[1:]).all()


@both
def test_increasing_functions_of_columns_change_nothing(method, steps):
    X, y = steps
    learner = gs.ForestLearner(method, keep=1.0, n_estimators=20, random_state=0)
    K = learner.fit(X, y).kernel_(X)
    for other in (np.exp(20.0 * X), 1e9 + X, 1e-200 * X):
        np.testing.assert_array_equal(learner.fit(other, y).kernel_(other), K)


def test_boosting_explains_what_scikit_learns_does(rng):
    X = rng.normal(size=(150, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    options = {"n_estimators": 30, "max_depth": 3, "min_samples_leaf": 5}
    twin = GradientBoostingRegressor(random_state=0, **options)
    ours = gs.ForestLearner("boosting", keep=1.0, random_state=0, **options).fit(X, y)
    assert ours.value_ == pytest.approx(twin.fit(X, y).score(X, y), abs=1e-6)
    theirs = twin.apply(X)
    np.testing.assert_allclose(
        ours.kernel_(X), (theirs[:, None] == theirs[None]).mean(axis=2), atol=1e-12
    )
    np.testing.assert_allclose(ours.history_["value"][-1], ours.value_)


def test_extra_trees_predict_as_scikit_learns_do(rng):
    """Ridge on the leaves of fully grown trees is a vote of the trees, or better."""
    X = rng.normal(size=(600, 8))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    forest = ExtraTreesClassifier(200, random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
    learner = gs.ForestLearner(keep=1.0, n_estimators=200, random_state=0).fit(X[:300], y[:300])
    machine = gs.KernelRidgeClassifier(learner.kernel_, alpha=1.0).fit(X[:300], y[:300])
    assert machine.score(X[300:], y[300:]) > forest - 0.04


@both
def test_steps_that_distances_learn_slowly(method, steps):
    X, y = steps
    rng = np.random.default_rng(1)
    Z = rng.uniform(size=(2000, 6))
    z = np.where((Z[:, 0] > 0.3) & (Z[:, 1] < 0.6), "in", "out")
    learner = gs.ForestLearner(method, random_state=0).fit(X, y)
    assert learner.keep_ > 0
    assert set(np.argsort(-learner.feature_importances_)[:2]) == {0, 1}
    assert learner.feature_importances_.sum() == pytest.approx(1.0)
    errors = [
        1.0 - gs.KernelRidgeClassifier(kernel).fit(X, y).score(Z, z)
        for kernel in (learner.kernel_, gs.Gaussian(0.7))
    ]
    assert errors[0] < {"extra_trees": 0.8, "boosting": 0.5}[method] * errors[1]


@both
def test_nothing_is_kept_where_nothing_is_to_be_learned(method, rng):
    kept = []
    for seed in range(6):
        X, y = rng.normal(size=(150, 4)), rng.integers(2, size=150)
        learner = gs.ForestLearner(method, n_estimators=20, random_state=seed)
        kept.append(learner.fit(X, y).keep_)
    assert np.count_nonzero(kept) <= 1  # a standard error is not a proof


def test_amounts_mix_a_gaussian_with_the_leaves(steps):
    X, y = steps
    kernels = [
        gs.ForestLearner(n_estimators=10, keep=keep, random_state=0).fit(X, y).kernel_
        for keep in (0.0, 0.25, 1.0)
    ]
    assert [type(kernel) for kernel in kernels] == [Gaussian, Sum, Leaves]
    assert kernels[1].k1.scale == 0.75
    np.testing.assert_array_equal(kernels[1].k2.kernel(X), kernels[2](X))


@both
def test_targets_of_every_kind(method, rng):
    X = rng.normal(size=(90, 3))
    outputs = np.column_stack([X[:, 0], np.abs(X[:, 1])])
    for y in (X[:, 0] > 0, np.digitize(X[:, 0], [-0.5, 0.5]), X[:, 0], outputs, (outputs > 0) * 1):
        learner = gs.ForestLearner(method, n_estimators=10, keep=1.0, random_state=0).fit(X, y)
        assert learner.value_ > 0.4
        assert len(learner.kernel_.roots) == learner.n_iter_ == 10


def test_default_leaves(steps):
    X, y = steps
    sizes = {}
    for name, method, target in (
        ("classes", "extra_trees", y),
        ("values", "extra_trees", X[:, 0] + X[:, 1] ** 2),
        ("boosting", "boosting", y),
    ):
        nodes = gs.ForestLearner(method, n_estimators=10, keep=1.0, random_state=0).fit(X, target)
        leaves = nodes.kernel_.leaves(X)
        sizes[name] = min(np.unique(column, return_counts=True)[1].min() for column in leaves.T)
    assert sizes == {"classes": 1, "values": 5, "boosting": 5}


@both
def test_weights_are_those_of_the_trees(method, steps, rng):
    X, y = steps
    y = (y == "in") + X[:, 2] ** 2
    w = rng.integers(1, 4, size=len(y))
    options = {"n_estimators": 10, "keep": 1.0, "random_state": 0, "min_samples_leaf": 1}
    weighted = gs.ForestLearner(method, **options).fit(X, y, sample_weight=w)
    repeated = gs.ForestLearner(method, **options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_array_equal(weighted.kernel_(X), repeated.kernel_(X))
    assert weighted.value_ == pytest.approx(repeated.value_)
    plain, new = gs.ForestLearner(method, **options).fit(X, y), rng.uniform(size=(50, 6))
    assert (weighted.kernel_(new) != plain.kernel_(new)).any()
    rest = gs.ForestLearner(method, **options).fit(X[:150], y[:150])
    left_out = gs.ForestLearner(method, **options).fit(X, y, np.r_[np.ones(150), np.zeros(50)])
    np.testing.assert_array_equal(left_out.kernel_(X), rest.kernel_(X))


def test_a_callback_stops_after_some_trees(steps):
    rows = []

    def stop(row):
        rows.append(row)
        return row["iteration"] == 3

    learner = gs.ForestLearner(keep=1.0, callback=stop, random_state=0).fit(*steps)
    assert learner.n_iter_ == len(learner.kernel_.roots) == 3
    assert [row["value"] for row in rows] == learner.history_["value"].tolist()


def test_an_interrupt_keeps_the_trees_so_far(steps):
    def interrupt(row):
        if row["iteration"] == 4:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        learner = gs.ForestLearner(keep=1.0, callback=interrupt, random_state=0).fit(*steps)
    assert learner.n_iter_ == len(learner.kernel_.roots) == 4


@pytest.mark.parametrize("name", ["max_depth", "min_samples_leaf"])
def test_sizes_that_trees_cannot_hold_are_refused(name, steps):
    with pytest.raises(ValueError, match=name):
        gs.ForestLearner(**{name: 2**70}).fit(*steps)


def test_strings_and_sparse_rows_are_refused(steps):
    with pytest.raises(TypeError, match="expected columns of numbers"):
        gs.ForestLearner().fit(["ab", "ba"], [0, 1])


@both
def test_exported(method, steps):
    X, y = steps
    learner = gs.ForestLearner(method, n_estimators=15, keep=0.5, random_state=0).fit(X, y)
    machine = gs.KernelRidgeClassifier(learner.kernel_).fit(X, y)
    assert_equal(machine, np.vstack([X[:20], np.random.default_rng(3).uniform(size=(40, 6))]))

"""A weight says how much a row counts, not how many rows there are: laws over all machines."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeClassifier

import gramsmith as gs
from tools.machine_zoo import FIXED, WEIGHTED, fixed, points

KERNEL = gs.Gaussian(1.5)


def example(machine, classes=2, n=60):
    X, codes = points(n, classes=classes)
    if is_classifier(machine()):
        return X, codes
    return X, np.sin(X[:, 0]) + 0.3 * codes + 0.1 * X[:, 1] * X[:, 2]


def values(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


def scaled_regulariser(machine, c):
    """The machine for weights times c: alpha times c, or C divided by c."""
    model = fixed(machine, KERNEL)
    if machine is gs.KernelFisherDiscriminant:
        return model  # its alpha is in units of a variance
    if "C" in model.get_params():
        return model.set_params(C=model.C / c)
    return model.set_params(alpha=model.alpha * c) if "alpha" in model.get_params() else model


@pytest.mark.parametrize("machine", FIXED, ids=lambda m: m.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_weights_and_fixed_regulariser_scale_together(machine, classes, rng):
    X, y = example(machine, classes)
    w = rng.uniform(0.2, 3.0, size=len(y))
    plain = values(fixed(machine, KERNEL).fit(X, y, sample_weight=w), X)
    loose = machine in (gs.KernelSVC, gs.KernelSVR)  # LIBSVM stops at a tolerance
    for c in (2.0**20, 2.0**-20):
        scaled = scaled_regulariser(machine, c).fit(X, y, sample_weight=c * w)
        assert_allclose(values(scaled, X), plain, rtol=1e-6, atol=1e-4 if loose else 1e-7)


@pytest.mark.parametrize("machine", FIXED, ids=lambda m: m.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_whole_weights_are_repeated_rows_where_nothing_is_chosen(machine, classes, rng):
    X, y = example(machine, classes)
    w = rng.integers(0, 4, size=len(y))
    weighted = fixed(machine, KERNEL).fit(X, y, sample_weight=w)
    repeated = fixed(machine, KERNEL).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    loose = machine in (gs.KernelSVC, gs.KernelSVR, gs.ImportVectorClassifier)
    assert_allclose(values(weighted, X), values(repeated, X), atol=1e-4 if loose else 1e-7)


@pytest.mark.parametrize("machine", WEIGHTED, ids=lambda m: m.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_chosen_does_not_depend_on_the_unit_of_weights(machine, classes, rng):
    """As they come; machines of a fixed C are told it in the unit of the weights."""
    X, y = example(machine, classes)
    w = rng.uniform(0.2, 3.0, size=len(y))
    model = machine(KERNEL).fit(X, y, sample_weight=w)
    has_price = "C" in model.get_params()
    known = ["loo_errors_", "loo_losses_", "loo_score_", "error_bound_", "path_deviances_"]
    known = [name for name in (*known, "log_evidence_") if hasattr(model, name)]
    for c in (2.0**20, 2.0**-20):
        other = machine(KERNEL, C=model.C / c) if has_price else machine(KERNEL)
        other.fit(X, y, sample_weight=c * w)
        close = 1e-3 if has_price else 1e-9
        assert_allclose(values(other, X), values(model, X), rtol=1e-7, atol=close)
        for name in known:
            assert_allclose(getattr(other, name), getattr(model, name), rtol=1e-7)
        if hasattr(model, "alpha_"):
            assert other.alpha_ == pytest.approx(c * model.alpha_, rel=1e-7)


@pytest.mark.parametrize("machine", [gs.KernelRidgeRegressor, gs.KernelRidgeClassifier])
@pytest.mark.parametrize("solver", ["eigen", "nystroem", "cg"])
def test_named_candidates_are_for_weights_of_mean_one(machine, solver, rng):
    X, y = example(machine)
    w = rng.uniform(0.2, 3.0, size=len(y))
    found = [
        machine(KERNEL, alphas=[0.01, 0.1, 1.0, 10.0], solver=solver, random_state=0)
        .fit(X, y, sample_weight=c * w / w.mean())
        .alpha_
        / c
        for c in (1.0, 2.0**20, 2.0**-20)
    ]
    assert min(abs(found[0] - alpha) for alpha in (0.01, 0.1, 1.0, 10.0)) < 1e-12
    assert_allclose(found, found[0], rtol=1e-12)


@pytest.mark.parametrize(
    "machine",
    [gs.KernelRidgeClassifier, gs.KernelLogisticRegression, gs.ParzenClassifier],
    ids=lambda m: m.__name__,
)
def test_boosted_machines_beat_a_stump(machine):
    """AdaBoost hands out weights that add up to one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = ((X**2).sum(axis=1) + 0.3 * rng.normal(size=400) > 1.4).astype(int)
    stump = DecisionTreeClassifier(max_depth=1).fit(X[:200], y[:200]).score(X[200:], y[200:])
    boosted = AdaBoostClassifier(machine(gs.Gaussian(1.0)), n_estimators=5, random_state=0)
    assert boosted.fit(X[:200], y[:200]).score(X[200:], y[200:]) > stump + 0.1


def test_an_offset_of_the_values_does_not_choose_the_regulariser():
    """y + 1e10 chose the largest alpha, and R² fell from .96 to .0007."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=120)
    for solver in ("eigen", "nystroem", "cg"):
        options = {"solver": solver, "n_landmarks": 60, "random_state": 0}
        near = gs.KernelRidgeRegressor(gs.Gaussian(1.0), **options).fit(X, y)
        far = gs.KernelRidgeRegressor(gs.Gaussian(1.0), **options).fit(X, y + 1e10)
        assert far.alpha_ == pytest.approx(near.alpha_, rel=1e-3)
        assert r2_score(y, far.predict(X) - 1e10) > 0.95

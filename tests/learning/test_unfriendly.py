"""Laws of every learner under weights of any scale, far offsets, odd units, ties and few rows."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import gramsmith as gs
from oracle.plain_learners import KernelLearner, TransformLearner

FEW = 15  # iterations: enough to move, too few for rounding to choose another optimum
LEARNERS = {
    "diagonal": TransformLearner(max_iter=FEW),
    "diagonal fsm": TransformLearner(measure="csm_scatter", max_iter=FEW, l1=0.0),
    "full": TransformLearner(structure="full", max_iter=FEW, random_state=0),
    "low rank": TransformLearner(
        structure="low_rank", rank=2, solver="ascent", max_iter=FEW, random_state=0
    ),
    "batches": TransformLearner(solver="ascent", batch_size=20, max_iter=FEW, random_state=0),
    "fisher": TransformLearner(measure="kernel_fisher", max_iter=FEW),
    "parameters": KernelLearner(max_iter=FEW),
    "ard": KernelLearner(gs.Gaussian([1.0, 1.0, 1.0]), "cka_debiased", max_iter=FEW),
    "hsic": KernelLearner(gs.Gaussian(1.0), "hsic", max_iter=FEW),
    "ridge": KernelLearner(gs.Gaussian([1.0, 1.0, 1.0]), "ridge_loo", max_iter=FEW),
    "two": gs.TwoGaussianLearner(n_grid=16, keep=1.0),
    "two debiased": gs.TwoGaussianLearner(1.0, measure="cka_debiased", n_grid=8, keep=1.0),
    "combination": gs.KernelCombination(keep=1.0),
    "signed": gs.KernelCombination(
        keep=1.0,
        kernels=[gs.Gaussian(0.5), gs.Gaussian(2.0), gs.Linear()],
        measure="cka_debiased",
        signed=True,
    ),
    "align": gs.KernelCombination(["linear", "rbf"], method="align", measure="kta", keep=1.0),
    "spectral": gs.SpectralAligner(keep=1.0),
    "spectral auto": gs.SpectralAligner(threshold="auto", random_state=0, keep=1.0),
    "forest": gs.ForestLearner(n_estimators=10, keep=1.0, random_state=0),
    "boosting": gs.ForestLearner("boosting", n_estimators=10, keep=1.0, random_state=0),
    "cholesky": gs.SpectralAligner(method="cholesky", max_rank=20, keep=1.0),
}
DENSE = {
    "likelihood": KernelLearner(gs.Gaussian([1.0, 1.0, 1.0]), "marginal_likelihood", max_iter=5),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(rng, n=60):
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)


def fitted_matrix(learner, X, y, w=None, Z=None):
    """Return the learned kernel of a few rows, over its largest entry."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fitted = clone(learner).fit(X, y, sample_weight=w)
    K = fitted.kernel_(X[:20] if Z is None else Z)
    assert np.isfinite(K).all()
    assert np.isfinite(fitted.value_)
    return K / np.abs(K).max(), fitted


def refusal(learner, *arguments):
    """Return why a learner says no, after checking what it says if it does not."""
    try:
        fitted_matrix(learner, *arguments)
    except ValueError as error:
        return str(error)
    return "Expected and done"


# ---- weights --------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("classes", [False, True])
def test_weights_times_a_number_change_nothing(name, classes, rng):
    X, y = data(rng)
    y = y > 0 if classes else y
    w = rng.uniform(0.2, 3.0, len(X))
    w[::7] = 0.0
    K, fitted = fitted_matrix(LEARNERS[name], X, y, w)
    for factor in (2.0**20, 2.0**-20):
        other, again = fitted_matrix(LEARNERS[name], X, y, factor * w)
        np.testing.assert_array_equal(other, K)
        assert again.value_ == fitted.value_


@every_learner
def test_equal_weights_are_none(name, rng):
    X, y = data(rng)
    K, fitted = fitted_matrix(LEARNERS[name], X, y)
    for weight in (1.0, 1.0 / 60, 1e-9, 1e12):
        other, again = fitted_matrix(LEARNERS[name], X, y, np.full(len(X), weight))
        np.testing.assert_allclose(other, K, rtol=1e-7, atol=1e-9)
        assert again.value_ == pytest.approx(fitted.value_, rel=1e-9)


@every_learner
def test_one_huge_weight_is_survived(name, rng):
    X, y = data(rng)
    w = np.ones(len(X))
    w[3] = 1e12
    # what is left of the others may be too little to measure
    assert "Expected" in refusal(LEARNERS[name], X, y > 0, w)


@every_learner
def test_rows_without_weight_are_no_rows(name, rng):
    X, y = data(rng, 80)
    w = rng.uniform(0.5, 2.0, 80)
    w[60:] = 0.0
    K, _ = fitted_matrix(LEARNERS[name], X, y, w, X[:20])
    other, _ = fitted_matrix(LEARNERS[name], X[:60], y[:60], w[:60], X[:20])
    np.testing.assert_allclose(other, K, rtol=1e-6, atol=1e-8)


# ---- units and offsets ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*LEARNERS, *DENSE])
def test_units_and_offsets_of_values_do_not_matter(name, rng):
    X, y = data(rng)
    y = np.round(y, 3)
    learner = {**LEARNERS, **DENSE}[name]
    K, _ = fitted_matrix(learner, X, y)
    for scale in (1e-15, 1e-6, 1e15):
        other, _ = fitted_matrix(learner, X, scale * y)
        np.testing.assert_allclose(other, K, rtol=1e-4, atol=1e-4)
    other, _ = fitted_matrix(learner, X, y + 1e10)
    np.testing.assert_allclose(other, K, rtol=1e-2, atol=1e-2)


FAR = [name for name in LEARNERS if name not in ("signed", "align")]  # a linear kernel sees offsets


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("classes", [False, True])
def test_an_offset_of_features_does_not_matter(name, classes, rng):
    X, y = data(rng)
    X = np.round(X * 2.0**12) / 2.0**12  # the offset loses no digit of it
    y = y > 0 if classes else y
    offset = np.array([2.0**33, 0.0, -(2.0**33)])
    K, _ = fitted_matrix(LEARNERS[name], X, y)
    other, _ = fitted_matrix(LEARNERS[name], X + offset, y)
    np.testing.assert_allclose(other, K, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [name for name in FAR if name not in ("ard", "hsic", "ridge")])
def test_units_of_features_do_not_matter(name, rng):
    X, y = data(rng)
    K, _ = fitted_matrix(LEARNERS[name], X, y)
    for unit in (1e-12, 1e12):
        learner = clone(LEARNERS[name])
        if name == "two debiased":
            learner.set_params(sigma1=unit)
        other, _ = fitted_matrix(learner, unit * X, y, Z=unit * X[:20])
        np.testing.assert_allclose(other, K, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("task", ["classes", "values"])
def test_units_of_single_features_do_not_matter(task, rng):
    X, y = data(rng, 120)
    y = X[:, 0] * X[:, 1] > 0 if task == "classes" else y
    found = [
        TransformLearner().fit(X * units, y).value_
        for units in (np.ones(3), np.array([1e-12, 1.0, 1e12]), np.array([1e6, 1e-3, 1.0]))
    ]
    assert found[1:] == pytest.approx(found[:1] * 2, rel=1e-3)


# ---- ties, constants, few rows --------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("classes", [False, True])
def test_ties_duplicates_and_constant_columns(name, classes, rng):
    X, y = data(rng, 30)
    X, y = np.repeat(np.round(X, 0), 2, axis=0), np.repeat(np.round(y, 1), 2)
    X = np.column_stack([X, np.full(60, 7.0), 3.0 + 1e-13 * rng.normal(size=60)])
    learner = clone(LEARNERS[name])
    if name in ("ard", "ridge"):
        learner.set_params(kernel=gs.Gaussian(np.ones(5)))
    fitted_matrix(learner, X, y > 0 if classes else y)


@every_learner
def test_a_class_of_one_row(name, rng):
    X, _ = data(rng)
    y = np.arange(60) % 2
    y[17] = 2
    assert "Expected" in refusal(LEARNERS[name], X, y)  # some measures need two of each


@every_learner
def test_a_constant_target_is_refused(name, rng):
    X, _ = data(rng)
    for y in (np.full(60, 1e10), np.zeros(60), np.full(60, 0.1) * 3.0):
        with pytest.raises(ValueError, match=r"[Ee]xpected"):
            clone(LEARNERS[name]).fit(X, y)


def test_warnings_are_those_of_convergence(rng):
    X, y = data(rng)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for learner in LEARNERS.values():
            clone(learner).fit(X + 1e10, 1e-15 * y)
    assert {w.category for w in told} <= {ConvergenceWarning}

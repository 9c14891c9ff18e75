"""The ridge path against one linear system per regulariser and against leaving one out."""

import warnings

import numpy as np
import pytest

from gramsmith.solvers import RidgePath
from gramsmith.solvers.ridge import ridge_at, ridge_solutions
from oracle import learning as textbook

ALPHAS = (1e-3, 0.1, 10.0)


def sample(rng, n=25):
    X = rng.normal(size=(n, 2))
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(-1)), np.sin(X[:, 0]) + 3


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_coefficients(rng, intercept, alpha):
    K, y = sample(rng)
    found = RidgePath(K, y, fit_intercept=intercept).solve(alpha)
    coef, bias = textbook.ridge(K, y, alpha, intercept)
    np.testing.assert_allclose(found.coef, coef, rtol=1e-8, atol=1e-10)
    assert found.intercept == pytest.approx(bias, abs=1e-9)
    assert found.jitter == 0


@pytest.mark.parametrize("intercept", [False, True])
def test_residuals_by_actually_leaving_one_out(rng, intercept):
    K, y = sample(rng)
    path = RidgePath(K, y, fit_intercept=intercept)
    residuals = path.loo_residuals(ALPHAS)
    for alpha, found in zip(ALPHAS, residuals, strict=True):
        slow = textbook.ridge_leave_one_out(K, y, alpha, intercept)
        np.testing.assert_allclose(found, slow, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(path.loo_errors(ALPHAS), (residuals**2).mean(axis=1))


def test_weights_are_repetition(rng):
    K, y = sample(rng, n=15)
    w = rng.integers(1, 4, size=15)
    rows = np.repeat(np.arange(15), w)
    weighted = RidgePath(K, y, sample_weight=w)
    repeated = RidgePath(K[np.ix_(rows, rows)], y[rows])
    a, b = weighted.solve(0.3), repeated.solve(0.3)
    np.testing.assert_allclose(a.coef, np.bincount(rows, b.coef), atol=1e-9)
    assert a.intercept == pytest.approx(b.intercept)


def test_rows_that_count_more_are_left_out_whole(rng):
    """Against the model without the row, refitted, whatever its weight."""
    K, y = sample(rng, n=12)
    w = rng.uniform(0.5, 5.0, size=12)
    found = RidgePath(K, y, sample_weight=w).loo_residuals([0.3])[0]
    for i in range(12):
        rest = np.arange(12) != i
        model = RidgePath(K[np.ix_(rest, rest)], y[rest], sample_weight=w[rest]).solve(0.3)
        assert found[i] == pytest.approx(y[i] - K[i, rest] @ model.coef - model.intercept, rel=1e-6)


def test_zero_interpolates_and_leaves_out(rng):
    x = np.linspace(0, 4, 9)
    K, y = np.exp(-np.abs(np.subtract.outer(x, x))), np.cos(x)
    path = RidgePath(K, y, fit_intercept=False)
    np.testing.assert_allclose(K @ path.solve(0.0).coef, y, atol=1e-12)
    assert path.solve(0.0).jitter == 0
    slow = textbook.ridge_leave_one_out(K, y, 0.0)
    np.testing.assert_allclose(path.loo_residuals([0.0])[0], slow, atol=1e-10)


def test_equal_rows_are_solved_with_stated_jitter():
    K, y = np.ones((4, 4)), np.array([1.0, 2.0, 3.0, 4.0])
    found = RidgePath(K, y, fit_intercept=False).solve(0.0)
    assert found.jitter > 0
    np.testing.assert_allclose(K @ found.coef, 2.5)


def test_indefinite_matrix_is_clipped_and_said(rng):
    K, y = sample(rng)
    values, U = np.linalg.eigh(K)
    values[:10] = -0.2
    bad, clipped = (U * values) @ U.T, (U * np.maximum(values, 0)) @ U.T
    with pytest.warns(UserWarning, match="set to zero"):
        found = RidgePath(bad, y).solve(0.1)
    good = RidgePath(clipped, y).solve(0.1)
    np.testing.assert_allclose(bad @ found.coef, clipped @ good.coef, atol=1e-9)


def test_continuous_minimum_lies_between_neighbours_of_the_grid(rng):
    """At either end of the grid too, whichever of the two neighbours is the better one."""
    K, _ = sample(rng, n=40)
    path = RidgePath(K, K[:, 0] + 0.3 * rng.normal(size=40))
    fine = np.logspace(-4, 4, 801)
    best = fine[np.argmin(path.loo_errors(fine))]
    assert 1e-3 < best < 1e3
    for grid in ([0.8, 4.0], [0.25, 1.25], [0.8, 4.0, 20.0], [0.05, 0.25, 1.25], [0.25, 1.25, 6.0]):
        alpha, error = path.minimise(best * np.array(grid))
        assert alpha == pytest.approx(best, rel=0.03)
        assert error <= path.loo_errors([best])[0]


def test_the_end_of_the_grid_is_returned_where_errors_still_fall(rng):
    K, _ = sample(rng, n=40)
    path = RidgePath(K, K[:, 0] + 0.3 * rng.normal(size=40))
    for grid in ([1e3, 1e4, 1e5], [1e-9, 1e-8, 1e-7]):
        errors = path.loo_errors(grid)
        k = int(np.argmin(errors))
        assert k in (0, 2)
        alpha, error = path.minimise(grid)
        assert alpha == pytest.approx(grid[k], rel=1e-3)
        assert error == pytest.approx(errors[k])


def test_residuals_of_many_outputs_and_regularisers(rng):
    """However the work is cut to bound the memory: 100 outputs, and 300 regularisers of one."""
    K, _ = sample(rng)
    Y, alphas = rng.normal(size=(25, 100)), np.logspace(-2, 2, 7)
    found = RidgePath(K, Y).loo_residuals(alphas)
    for k in (0, 57, 99):
        alone = RidgePath(K, Y[:, k])
        for a, alpha in enumerate(alphas):
            np.testing.assert_allclose(found[a, :, k], alone.loo_residuals([alpha])[0], atol=1e-10)
    many = np.logspace(-2, 2, 300)
    path = RidgePath(K, Y[:, 0])
    found = path.loo_residuals(many)
    for a in (0, 255, 256, 299):
        np.testing.assert_allclose(found[a], path.loo_residuals([many[a]])[0], atol=1e-10)


def test_negative_regulariser_is_refused(rng):
    K, y = sample(rng)
    with pytest.raises(ValueError, match="alpha >= 0"):
        RidgePath(K, y).solve(-1.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_regulariser_by_its_factor(rng, intercept, weighted):
    K, y = sample(rng)
    Y = np.column_stack([y, y**2])
    w = rng.uniform(0.1, 4.0, size=25) if weighted else None
    options = {"fit_intercept": intercept, "sample_weight": w}
    ridge = ridge_at(K, Y, 0.3, **options)
    found, residuals = ridge.solution, ridge.loo_residuals()
    path = RidgePath(K, Y, **options)
    known = path.solve(0.3)
    np.testing.assert_allclose(found.coef, known.coef, atol=1e-9)
    np.testing.assert_allclose(found.intercept, known.intercept, atol=1e-9)
    np.testing.assert_allclose(residuals, path.loo_residuals([0.3])[0], atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_few_regularisers_by_their_factors_or_by_eigenvectors(rng, weighted, shift):
    """A matrix that is not definite, and regularisers next to nothing, are left to the path."""
    K, y = sample(rng)
    K = K - shift * np.eye(25)
    w = rng.uniform(0.1, 4.0, size=25) if weighted else None
    alphas = np.array([1e-14, 0.3, 3.0] if shift == 0.0 else [0.3, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = RidgePath(K, y[:, None], sample_weight=w)
        found = ridge_solutions(K, y[:, None], alphas, sample_weight=w)
    for alpha, solution in zip(alphas, found, strict=True):
        known = path.solve(alpha)
        np.testing.assert_allclose(solution.coef, known.coef, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(solution.intercept, known.intercept, atol=1e-9)


def test_one_regulariser_is_left_to_the_path_where_it_is_better(rng):
    K, y = sample(rng)
    assert ridge_at(K, y[:, None], 0.0) is None
    assert ridge_at(K - 0.5 * np.eye(25), y[:, None], 1.0) is None


@pytest.mark.parametrize("c", [2.0**20, 2.0**-20, 1e-9])
def test_weights_and_regulariser_scale_together(rng, c):
    K, y = sample(rng)
    w = rng.uniform(0.5, 5.0, size=25)
    plain, scaled = RidgePath(K, y, sample_weight=w), RidgePath(K, y, sample_weight=c * w)
    np.testing.assert_allclose(scaled.solve(0.3 * c).coef, plain.solve(0.3).coef, rtol=1e-9)
    np.testing.assert_allclose(
        scaled.loo_errors(c * np.array(ALPHAS)), plain.loo_errors(ALPHAS), rtol=1e-6
    )


def test_an_offset_of_the_targets_changes_the_intercept_only(rng):
    K, y = sample(rng)
    y = np.round(y, 3)  # so that y + 1e6 is exact enough
    w = rng.uniform(0.5, 5.0, size=25)
    near, far = RidgePath(K, y, sample_weight=w), RidgePath(K, y + 1e6, sample_weight=w)
    np.testing.assert_allclose(far.loo_residuals(ALPHAS), near.loo_residuals(ALPHAS), atol=1e-6)
    assert far.solve(0.3).intercept - 1e6 == pytest.approx(near.solve(0.3).intercept, abs=1e-8)
    found = ridge_at(K, y[:, None] + 1e6, 0.3, sample_weight=w).solution
    np.testing.assert_allclose(found.coef[:, 0], near.solve(0.3).coef, atol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_by_actually_refitting(rng, intercept, weighted):
    """Folds of several sizes, in any order, that need not hold every row."""
    K, y = sample(rng)
    Y = np.column_stack([y, y**2])
    w = rng.uniform(0.1, 4.0, size=25) if weighted else None
    order = rng.permutation(25)
    folds = [order[:3], order[3:4], order[4:20]]
    options = {"fit_intercept": intercept}
    path = RidgePath(K, Y, sample_weight=w, **options)
    found = path.fold_residuals(ALPHAS, folds)
    for fold, residuals in zip(folds, found, strict=True):
        rest = np.setdiff1d(np.arange(25), fold)
        part = None if w is None else w[rest]
        model = RidgePath(K[np.ix_(rest, rest)], Y[rest], sample_weight=part, **options)
        for alpha, values in zip(ALPHAS, residuals, strict=True):
            known = model.solve(alpha)
            F = K[np.ix_(fold, rest)] @ known.coef + known.intercept
            np.testing.assert_allclose(values, Y[fold] - F, rtol=1e-6, atol=1e-8)
    single = RidgePath(K, y, sample_weight=w, **options)
    each = single.fold_residuals(ALPHAS, [np.array([i]) for i in range(25)])
    np.testing.assert_allclose(np.hstack(each), single.loo_residuals(ALPHAS), atol=1e-8)


def test_a_fold_of_all_rows_leaves_nothing_to_fit(rng):
    K, y = sample(rng)
    with pytest.raises(ValueError, match="Use more folds"):
        RidgePath(K, y).fold_residuals(ALPHAS, [np.arange(25)])

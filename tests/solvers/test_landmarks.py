"""Ridge on landmarks: with all samples as landmarks it is kernel ridge regression."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gramsmith as gs
from gramsmith.kernels.landmarks import inverse_root
from gramsmith.solvers import RidgePath, conjugate_gradients
from gramsmith.solvers.landmarks import LandmarkPreconditioner, expected_products, landmark_path


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 3))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-D / 4), np.sin(X[:, 0])[:, None] + 0.1 * rng.normal(size=(40, 1))


def whole(K):
    return lambda: [(slice(0, 15), K[:15]), (slice(15, 40), K[15:])]


@pytest.mark.parametrize("intercept", [False, True])
def test_all_landmarks_are_kernel_ridge(problem, intercept):
    K, y = problem
    path = landmark_path(K, whole(K), y, fit_intercept=intercept)
    exact = RidgePath(K, y[:, 0], fit_intercept=intercept)
    np.testing.assert_allclose(
        path.loo_residuals(K, y, np.array([0.3, 1.0]))[..., 0],
        exact.loo_residuals([0.3, 1.0]),
        atol=1e-6,
    )
    coef, intercept = path.solve(0.3)
    known = exact.solve(0.3)
    np.testing.assert_allclose(
        K @ coef[:, 0] + intercept, K @ known.coef + known.intercept, atol=1e-6
    )


@pytest.mark.parametrize("scale", [1e-4, 1.0, 400.0])
def test_leave_one_out_is_exact(problem, scale):
    K, y = problem
    K = scale * K  # regularisers are in its units
    m = np.arange(0, 40, 4)
    path = landmark_path(K[np.ix_(m, m)], whole(K[:, m]), y)
    found = path.loo_residuals(K[:, m], y, scale * np.array([0.1, 1.0]))
    for i in (0, 7, 39):
        keep = np.arange(40) != i
        part = landmark_path(K[np.ix_(m, m)], lambda k=keep: [(slice(None), K[k][:, m])], y[keep])
        for a, alpha in enumerate((0.1, 1.0)):
            coef, intercept = part.solve(scale * alpha)
            np.testing.assert_allclose(found[a, i], y[i] - K[i, m] @ coef - intercept, atol=1e-6)


def test_weights_are_repetitions(problem):
    K, y = problem
    m = np.arange(0, 40, 5)
    w = np.ones(40)
    w[:3] = 2.0
    twice = np.r_[np.arange(40), np.arange(3)]
    weighted = landmark_path(K[np.ix_(m, m)], lambda: [(slice(None), K[:, m])], y, w)
    repeated = landmark_path(K[np.ix_(m, m)], lambda: [(slice(None), K[twice][:, m])], y[twice])
    for a, b in zip(weighted.solve(0.5), repeated.solve(0.5), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_rows_are_left_out_whole(rng):
    """Against refitting without the row, whatever its weight."""
    X = rng.normal(size=(30, 2))
    Y = np.sin(X[:, :1])
    w = rng.uniform(0.1, 4.0, size=30)
    K = gs.Gaussian(1.0)(X)
    alpha = 0.3
    path = landmark_path(K, lambda: [(slice(None), K)], Y, w)
    got = path.loo_residuals(K, Y, np.array([alpha]), w)[0]
    for i in range(5):
        rest = w.copy()
        rest[i] = 0.0
        coef, intercept = landmark_path(K, lambda: [(slice(None), K)], Y, rest).solve(alpha)
        assert got[i, 0] == pytest.approx(float((Y[i] - K[i] @ coef - intercept)[0]), abs=1e-6)


def test_no_regulariser_at_all_is_solved_with_stated_jitter(rng):
    X = rng.normal(size=(30, 2))
    K = X @ X[:5].T
    path = landmark_path(K[:5], lambda: [(slice(None), K)], X[:, :1])
    assert path.jitter(0.0) > 0
    assert path.jitter(1.0) == 0
    coef, intercept = path.solve(0.0)
    np.testing.assert_allclose(K @ coef + intercept, X[:, :1], atol=1e-6)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(4, 50),
    width=st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 3.5, 4.0]),
    strength=st.sampled_from([-16.0, -14.0, -12.0, -10.0, -8.0, -4.0, 0.0]),
    weights=st.sampled_from([0.0, 3.0, 6.0]),
    intercept=st.booleans(),
    kind=st.sampled_from(["plain", "skewed", "outlier", "copies"]),
)
@example(seed=0, n=50, width=4.0, strength=-14.0, weights=3.0, intercept=True, kind="plain")
@example(seed=1, n=50, width=4.0, strength=-16.0, weights=0.0, intercept=True, kind="copies")
@example(seed=0, n=4, width=4.0, strength=-12.0, weights=6.0, intercept=True, kind="copies")
def test_no_residual_is_larger_than_ridge_regression_allows(
    seed, n, width, strength, weights, intercept, kind
):
    """Without row i ridge gives |f| <= ½ sqrt(Σwy² / α), whatever the leverage of the row."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X = {"skewed": np.exp(2.0 * X), "copies": X[rng.integers(0, n, n)]}.get(kind, X)
    X[0] *= 1e3 if kind == "outlier" else 1.0
    y = X[:, [0]] + rng.normal(size=(n, 1))
    w = 10.0 ** (weights * rng.uniform(-1.0, 1.0, n))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10.0 ** (2.0 * width))
    m = np.arange(0, n, 2)
    path = landmark_path(
        K[np.ix_(m, m)], lambda: [(slice(None), K[:, m])], y, w, fit_intercept=intercept
    )
    alpha = 10.0**strength * w.sum() * max(1.0 - K.mean(), 1e-12)
    residuals = path.loo_residuals(K[:, m], y, np.array([alpha]), w)[0, :, 0]
    for i in range(n):
        rest = np.arange(n) != i
        F, v = K[:, m] @ path.root, w[rest] / w[rest].sum()
        centre, mean = (v @ F[rest], v @ y[rest, 0]) if intercept else (0.0, 0.0)
        scatter = w[rest] @ (y[rest, 0] - mean) ** 2
        most = 0.5 * np.sqrt(scatter / alpha) * np.linalg.norm(F[i] - centre)
        assert abs(residuals[i] - (y[i, 0] - mean)) <= 1.01 * most + 1e-6 * np.ptp(y)


def test_a_row_like_no_other_is_predicted_by_the_mean_of_the_others():
    """With leverage one to working precision it must not seem to be predicted by itself."""
    K, y = np.eye(8), np.arange(8.0)[:, None]
    path = landmark_path(K, lambda: [(slice(None), K)], y)
    for alpha in (1e-3, 1e-8, 1e-13, 0.0):
        found = path.loo_residuals(K, y, np.array([alpha]))[0, :, 0]
        np.testing.assert_allclose(found, (y[:, 0] - 3.5) * 8.0 / 7.0, rtol=0.03, atol=1e-3)


def expected(K, m, alpha, tol=1e-6):
    S = np.arange(m)
    root = inverse_root(K[np.ix_(S, S)])
    return expected_products(lambda a, b: K[np.ix_(a, b)], S, root, len(K), alpha, tol)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("m", [10, 40, 100])
def test_expected_products_are_the_bound_of_conjugate_gradients(rng, m, alpha):
    """½ sqrt(κ) log(2 / tol) with κ = 1 + λ/α, λ the largest eigenvalue that landmarks leave."""
    K = gs.Gaussian(1.0)(rng.normal(size=(200, 2)))
    S, n = np.arange(m), len(K)
    left = K - K[:, S] @ np.linalg.pinv(K[np.ix_(S, S)], 1e-12, hermitian=True) @ K[S]
    bound = 0.5 * np.sqrt(1.0 + np.linalg.eigvalsh(left)[-1] / alpha) * np.log(2.0 / 1e-6)
    assert expected(K, m, alpha) == pytest.approx(2 + bound, rel=0.01, abs=1.0)
    inverse = LandmarkPreconditioner(
        inverse_root(K[np.ix_(S, S)]), lambda: [(slice(0, n), K[:, S])], np.ones(n), [alpha]
    )
    taken = conjugate_gradients(
        *(lambda V: K @ V, np.ones(n), rng.normal(size=(n, 1))),
        alphas=np.array([alpha]),
        precondition=inverse,
        tol=1e-6,
    )
    assert taken.n_iter <= expected(K, m, alpha)


def test_expected_products_where_landmarks_leave_nothing(rng):
    K = gs.Polynomial(1)(rng.normal(size=(50, 2)))
    assert expected(K, 10, 1e-3) == expected(K, 10, 1e3) == int(2 + 0.5 * np.log(2e6))

"""Newton's method by products with a kernel matrix against the one that holds it."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.kernels.landmarks import inverse_root
from gramsmith.solvers import fit_expansion
from gramsmith.solvers.losses import (
    Logistic,
    Multinomial,
    SmoothHinge,
    Squared,
    SquaredHinge,
    code_targets,
)
from gramsmith.solvers.newton_cg import fit_products

N = 240


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    K = gs.Gaussian(1.5)(X)
    some = np.sort(rng.permutation(N)[:40])
    Phi = K[:, some] @ inverse_root(K[np.ix_(some, some)])
    f = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N)
    return K, Phi, f, rng.uniform(0.2, 3.0, size=N)


LOSSES = {
    "logistic": Logistic(),
    "squared": Squared(),
    "squared hinge": SquaredHinge(),
    "hinge": SmoothHinge(),
    "multinomial": Multinomial(),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_the_minimum_is_that_of_the_matrix(problem, name, fit_intercept, weighted):
    K, Phi, f, w = problem
    classes = 3 if name == "multinomial" else 2
    y = code_targets(np.digitize(f, [-0.3, 0.8][: classes - 1]), classes)
    options = {"fit_intercept": fit_intercept, "sample_weight": w if weighted else None}
    for alpha in (0.1, 10.0):
        exact = fit_expansion(K, y, LOSSES[name], alpha, tol=1e-12, **options)
        found = fit_products(lambda V: K @ V, Phi, y, LOSSES[name], alpha, tol=1e-12, **options)
        assert found.status == "converged"
        assert found.objective == pytest.approx(exact.objective, rel=1e-10)
        np.testing.assert_allclose(found.f, exact.f, atol=2e-4)
        np.testing.assert_allclose(found.a, exact.a, atol=1e-3 / alpha)
        assert found.residual < 1e-3
        assert found.n_products < (600 if name == "hinge" else 120)
        if fit_intercept:
            np.testing.assert_allclose(found.a.sum(axis=0), 0.0, atol=1e-9 * N / alpha)


def test_a_start_near_the_minimum_saves_products(problem):
    K, Phi, f, _ = problem
    y = code_targets((f > 0).astype(int), 2)
    far = fit_products(lambda V: K @ V, Phi, y, Logistic(), 0.1)
    near = fit_products(lambda V: K @ V, Phi, y, Logistic(), 0.1, start=far.f)
    assert near.n_products < far.n_products / 2
    np.testing.assert_allclose(near.f, far.f, atol=1e-3)


def test_products_may_be_limited(problem):
    K, Phi, f, _ = problem
    y = code_targets((f > 0).astype(int), 2)
    seen = []
    found = fit_products(
        lambda V: K @ V,
        Phi[:, :2],
        *(y, Logistic(), 1e-3),
        max_products=7,
        report=lambda n, residual: seen.append((n, residual)),
    )
    assert found.n_products == 7
    assert [n for n, _ in seen] == list(range(1, 8))
    assert found.status != "converged"
    assert "n_landmarks" in found.advice
    g = Logistic().slope(y, found.f)
    expected = np.linalg.norm(g + 1e-3 * found.a) / np.linalg.norm(g)
    assert found.residual == pytest.approx(expected, rel=1e-9)
    assert expected > 1e-3

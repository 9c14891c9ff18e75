"""Approximate leave-one-out against fits without the row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.solvers import fit_expansion
from gramsmith.solvers.left_out import features_of, left_out_losses, usual_alphas
from gramsmith.solvers.losses import Logistic, Multinomial, Squared, code_targets
from tools.machine_zoo import points

ALPHAS = np.array([10.0, 1.0, 0.1])


def refitted(K, Y, loss, alpha, w):
    """The weighted mean loss of rows under machines fitted without them."""
    out = []
    for i in range(len(K)):
        rest = np.arange(len(K)) != i
        found = fit_expansion(
            K[np.ix_(rest, rest)], Y[rest], loss, alpha, sample_weight=w[rest], tol=1e-10
        )
        out.append(loss.value(Y[i : i + 1], (K[i, rest] @ found.a + found.b)[None])[0])
    return np.average(out, weights=w)


@pytest.mark.parametrize(
    ("loss", "classes", "rtol"),
    [(Squared(), 2, 1e-5), (Logistic(), 2, 0.03), (Multinomial(), 3, 0.06)],
    ids=["squared", "logistic", "multinomial"],
)
def test_rows_are_left_out_whole(loss, classes, rtol, seed):
    rng = np.random.default_rng(seed)  # threads that share one would draw other weights
    X, codes = points(45, classes=classes)
    K, Y = gs.Gaussian(1.5)(X), code_targets(codes, classes)
    w = rng.uniform(0.3, 3.0, size=45)
    found, _ = left_out_losses(features_of(K), Y, loss, ALPHAS, sample_weight=w)
    slow = [refitted(K, Y, loss, alpha, w) for alpha in ALPHAS]
    assert_allclose(found, slow, rtol=rtol)


def test_features_give_the_matrix(rng):
    K = gs.Gaussian(1.0)(rng.normal(size=(40, 2)))
    Phi = features_of(K)
    assert_allclose(Phi @ Phi.T, K, atol=1e-7)
    G = Phi.T @ Phi
    assert_allclose(G, np.diag(G.diagonal()), atol=1e-8)
    assert features_of(K, 5).shape == (40, 5)
    assert features_of(np.eye(310)).shape == (310, 300)


def test_candidates_scale_with_the_kernel():
    assert_allclose(usual_alphas(50, 3.0), 3.0 * usual_alphas(50, 1.0))
    assert np.diff(usual_alphas(50, 1.0)).max() < 0
    assert np.isfinite(usual_alphas(50, 0.0)).all()


def test_it_stops_once_the_best_is_passed():
    X, codes = points(45)
    K, Y = gs.Gaussian(1.5)(X), code_targets(codes, 2)
    alphas = 10.0 ** np.arange(3.0, -8.0, -1.0)
    whole, _ = left_out_losses(features_of(K), Y, Logistic(), alphas)
    part, functions = left_out_losses(features_of(K), Y, Logistic(), alphas, stop=2)
    assert len(part) == len(functions) == np.argmin(whole) + 3
    assert_allclose(part, whole[: len(part)])

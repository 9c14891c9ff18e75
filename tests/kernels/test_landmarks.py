"""The choice of landmarks."""

import numpy as np
import pytest

from gramsmith.kernels.landmarks import choose_landmarks, inverse_root, random_pivots


def gram(rng, n=300):
    X = rng.normal(size=(n, 2))
    return np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))


def left(K, S):
    """The trace that the columns S leave of K."""
    Z = K[:, S] @ inverse_root(K[np.ix_(S, S)])
    return np.trace(K) - np.sum(Z * Z)


def chosen(K, size, method, seed=0):
    return choose_landmarks(lambda I, J: K[np.ix_(I, J)], K.diagonal(), size, method, seed)


@pytest.mark.parametrize("proposals", [1, 7, 100])
def test_residual_is_that_of_the_columns(proposals, rng):
    K = gram(rng)
    pivots, residual = random_pivots(lambda J: K[:, J], K.diagonal(), 30, 3, proposals)
    assert len(np.unique(pivots)) == len(pivots) == 30
    np.testing.assert_allclose(residual.sum(), left(K, pivots), atol=1e-5)


def test_pivots_are_drawn_by_the_residual():
    # Two clusters, one point apart: after a landmark in one of them the others are as likely.
    K = np.kron(np.diag([1.0, 1.0, 1.0]), np.ones((3, 3))) + 1e-9 * np.eye(9)
    K[6:, 6:] *= 2.0
    first = np.zeros(3)
    for seed in range(600):
        pivots, residual = random_pivots(lambda J: K[:, J], K.diagonal(), 3, seed, 5)
        assert len(np.unique(pivots // 3)) == 3
        assert residual.max() < 1e-8
        first[pivots[0] // 3] += 1
    np.testing.assert_allclose(first / 600, [0.25, 0.25, 0.5], atol=0.07)


def test_no_more_pivots_than_rank(rng):
    F = rng.normal(size=(50, 4))
    pivots, residual = random_pivots(lambda J: F @ F[J].T, np.sum(F * F, axis=1), 20)
    assert len(pivots) == 4
    assert residual.max() < 1e-10


def test_pivots_beat_uniform_landmarks(rng):
    X = np.concatenate([0.1 * rng.normal(size=(280, 2)), rng.uniform(-9, 9, size=(20, 2))])
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    pivoted, uniform = (
        np.mean([left(K, chosen(K, 20, method, seed)) for seed in range(5)])
        for method in ("pivoted", "uniform")
    )
    assert pivoted < 0.7 * uniform


@pytest.mark.parametrize("method", ["pivoted", "leverage", "uniform"])
def test_landmarks_are_different_and_in_order(method, rng):
    K = gram(rng)
    found = chosen(K, 25, method)
    assert len(found) == 25
    assert (np.diff(found) > 0).all()
    np.testing.assert_array_equal(found, chosen(K, 25, method))
    np.testing.assert_array_equal(chosen(K, 400, method), np.arange(300))


def test_leverage_finds_the_odd_ones(rng):
    X = np.concatenate([0.01 * rng.normal(size=(280, 2)), rng.uniform(-9, 9, size=(20, 2))])
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    odd = np.mean([np.sum(chosen(K, 60, "leverage", seed) >= 280) for seed in range(5)])
    assert odd > 8  # uniform landmarks hold 4 of them


def test_few_of_many_samples_are_looked_at(rng, sizes):
    sizes("kernels.landmarks", CANDIDATE_BYTES=8)
    K, seen = gram(rng), set()

    def block(I, J):
        seen.update(I.tolist())
        return K[np.ix_(I, J)]

    found = choose_landmarks(block, K.diagonal(), 10, "pivoted", 0)
    assert len(found) == 10
    assert len(seen) == 40


def test_unknown_method_is_named():
    with pytest.raises(ValueError, match="pivoted, leverage, uniform"):
        choose_landmarks(lambda I, J: np.eye(2), np.ones(2), 1, "best")

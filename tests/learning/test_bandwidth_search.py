import numpy as np
import pytest

import golden
import textbook as tb
from gramsmith.learning.bandwidth_profile import BandwidthProfile, bandwidth_range
from gramsmith.learning.bandwidth_search import search_bandwidth
from gramsmith.targets import make_target


def search(X, y, **options):
    X = np.asarray(X, dtype=float)
    return search_bandwidth(BandwidthProfile(X, make_target(y)), *bandwidth_range(X), **options)


@pytest.mark.parametrize("example", [0, 1])
def test_counterexamples_are_solved_to_the_global_maximum(example):
    """One Gaussian can have several maxima: every one is found, and the best is taken."""
    x, y, extrema = golden.SIGMA_COUNTEREXAMPLES[example]
    found = search(np.array(x)[:, None], y)
    maxima = [(sigma, value) for sigma, value, kind in extrema if kind == "max"]
    best = max(maxima, key=lambda pair: pair[1])
    assert found.sigma == pytest.approx(best[0], rel=1e-5)
    assert found.value == pytest.approx(best[1], abs=1e-5)
    for sigma, value in maxima:
        assert any(
            point.sigma == pytest.approx(sigma, rel=1e-5)
            and point.value == pytest.approx(value, abs=1e-5)
            for point in found.maxima
        )


def random_problem(rng):
    if rng.random() < 0.5:
        X = rng.uniform(0, 10, size=(rng.integers(4, 9), 1))
    else:
        centres = rng.normal(size=(4, 2)) * 3
        X = centres[rng.integers(4, size=rng.integers(20, 40))] + rng.normal(size=(1, 2))
        X = X + rng.normal(size=X.shape) * rng.choice([0.1, 1.0])
    y = rng.choice([-1, 1], size=len(X))
    y[:2] = [-1, 1]
    return X, y


def brute_force(X, y, points=1000):
    D = tb.distances(X) ** 2
    low, high = 0.1 * np.sqrt(D[D > 0].min()), 10 * np.sqrt(D.max())
    T = np.outer(y, y)
    n = len(y)
    values = []
    for sigma in np.geomspace(low, high, points):
        K = np.exp(-D / (2 * sigma**2))
        values.append(np.sum(K * T) / (n * np.linalg.norm(K)))
    return max(*values, 1 / np.sqrt(n), (y.sum() / n) ** 2)


def check_random_problems(rng, count):
    for _ in range(count):
        X, y = random_problem(rng)
        assert search(X, y).value >= brute_force(X, y) - 2e-4


def test_random_problems_are_never_worse_than_brute_force(rng):
    check_random_problems(rng, 15)


@pytest.mark.slow
def test_two_hundred_random_problems(rng):
    check_random_problems(rng, 200)


def test_both_limits_are_candidates():
    # Labels that alternate between the closest points: no Gaussian beats the identity.
    narrow = search(np.array([[0.0], [1.0], [10.0], [11.0]]), [1, -1, 1, -1])
    assert narrow.value == pytest.approx(0.5, abs=1e-9)
    # Nearly one class: the constant kernel is best.
    wide = search(np.arange(30.0)[:, None], [-1] + [1] * 29)
    assert wide.value >= (28 / 30) ** 2 - 1e-9


def test_stops_when_asked():
    found = search(golden.X, golden.y, after=lambda point: True)
    assert len(found.grid) == 1
    assert not found.converged


def test_few_steps_per_maximum():
    found = search(golden.X, golden.y)
    assert found.converged
    assert found.sigma == pytest.approx(golden.GOLDEN["best_sigma"][0], abs=1e-8)
    assert found.value == pytest.approx(golden.GOLDEN["best_sigma_kta"][0], abs=1e-8)
    assert found.n_iter <= 10 * len(found.maxima)

"""The active-set programme: optimality conditions hold to rounding, whatever the start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramsmith.solvers import active_set
from gramsmith.solvers.active_set import solve_cone


def problem(rng, n, C, width):
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / (2 * width**2))
    s = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    s[:2] = 1.0, -1.0
    return K, s, np.full(n, 1 / C)


def violation(K, t, s, r, total, found):
    """Largest breach of: the sum, the signs, and s z <= R |c| with equality where c is not zero."""
    z = t - K @ found.c - found.b
    on = found.active
    return max(
        abs(found.c.sum() - total),
        np.max(-s * found.c),
        np.max(np.abs(z - r * found.c)[on]),
        np.max((s * z)[~on], initial=0.0),
    )


@given(
    st.integers(0, 10**6),
    st.sampled_from([0.1, 10.0, 1e3, 1e5]),
    st.sampled_from([0.2, 1.0, 5.0]),
    st.sampled_from([0.0, 1.0]),
)
def test_optimality_conditions(seed, C, width, total):
    rng = np.random.default_rng(seed)
    K, s, r = problem(rng, 40, C, width)
    if total:
        s = np.ones(40)
    t = s if not total else 0.5 * K.diagonal()
    found = solve_cone(K, t, s, r, total)
    assert found.converged
    assert violation(K, t, s, r, total, found) < 1e-9 * max(1.0, C / 10)


def test_any_start_reaches_the_same_point(rng):
    K, s, r = problem(rng, 60, 100.0, 1.0)
    cold = solve_cone(K, s, s, r, 0.0)
    for _ in range(5):
        warm = solve_cone(K, s, s, r, 0.0, active=rng.random(60) < 0.3)
        np.testing.assert_allclose(warm.c, cold.c, atol=1e-9)
    assert solve_cone(K, s, s, r, 0.0, active=cold.active).n_iter == 1


def test_halving_start_changes_nothing_but_the_time(rng, monkeypatch):
    K, s, r = problem(rng, 120, 10.0, 1.0)
    plain = solve_cone(K, s, s, r, 0.0)
    monkeypatch.setattr(active_set, "COLD", 20)
    np.testing.assert_allclose(solve_cone(K, s, s, r, 0.0).c, plain.c, atol=1e-10)


def test_one_class_first_start_recovers():
    # The guess holds one sign only, on which the coefficients would all be zero.
    s = np.array([1.0, 1.0, -1.0, -1.0])
    K = np.eye(4) + 0.1
    found = solve_cone(K, s, s, np.full(4, 0.1), 0.0, active=s > 0)
    assert found.converged
    assert violation(K, s, s, np.full(4, 0.1), 0.0, found) < 1e-12


def test_too_few_steps_are_reported(rng):
    K, s, r = problem(rng, 80, 1e4, 1.0)
    found = solve_cone(K, s, s, r, 0.0, max_iter=1)
    assert found.status == "max_iter"
    assert "max_iter" in found.advice


def test_indefinite_matrix_is_refused():
    s = np.array([1.0, -1.0])
    K = np.array([[0.0, 2.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="nearest_psd"):
        solve_cone(K, s, s, np.full(2, 0.1), 0.0)

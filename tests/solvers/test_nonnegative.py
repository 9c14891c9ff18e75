"""Non-negative least squares: optimality conditions, singular and badly scaled forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramsmith.solvers import solve_nonnegative


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8))
def test_optimality_conditions(seed, m, rank):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(m, rank)) * np.exp(3 * rng.normal(size=(m, 1)))
    M, a = B @ B.T, B @ rng.normal(size=rank)
    found = solve_nonnegative(M, a)
    assert found.converged
    assert (found.v >= 0).all()
    scale = np.sqrt(M.diagonal())
    slack = (M @ found.v - a) / scale
    assert slack.min() > -1e-7
    assert np.abs(found.v * scale * slack).max() < 1e-7 * max(1.0, (found.v * scale).max())
    assert found.value <= 1e-12


def test_equal_kernels_share_the_weight():
    M = np.array([[1.0, 1.0], [1.0, 1.0]])
    found = solve_nonnegative(M, np.array([2.0, 2.0]))
    assert found.v.sum() == pytest.approx(2.0)
    assert found.value == pytest.approx(-4.0)


def test_zero_form_gives_zero():
    found = solve_nonnegative(np.zeros((2, 2)), np.zeros(2))
    np.testing.assert_array_equal(found.v, 0.0)
    assert found.converged


def test_unbounded_form_is_reported():
    found = solve_nonnegative(np.zeros((1, 1)), np.array([1.0]))
    assert found.status == "stalled"
    assert found.advice


def test_bad_input():
    with pytest.raises(ValueError, match="finite M"):
        solve_nonnegative(np.eye(2), np.ones(3))
    with pytest.raises(ValueError, match="overflow"):
        solve_nonnegative(np.full((1, 1), np.inf), np.ones(1))

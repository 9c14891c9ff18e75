"""Fixed steps: up for the alignment, down for the bound, stopped by the paper's rule."""

import numpy as np
import pytest

import gramsmith as gs
from papers.pothin_richard_steps import (
    Alignment,
    RadiusMargin,
    Split,
    evaluate_kernel,
    fixed_steps,
    mapped,
)


@pytest.fixture
def split(rng):
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    return Split(X[:40], y[:40], X[40:], y[40:])


def test_alignment_rises_and_stops(split):
    ascent = fixed_steps("kta", split, 0.5 * np.eye(3), 1e-3, 500, 1e-3)
    assert len(ascent.maps) == len(ascent.values) < 100
    assert (np.diff(ascent.values)[:-1] >= 1e-3).all()
    assert ascent.values[-1] == pytest.approx(gs.kta(mapped(ascent.maps[-1])(split.X), split.y))
    assert ascent.seconds > 0


def test_the_first_step_is_the_printed_update(split):
    ascent = fixed_steps("kta", split, 0.5 * np.eye(3), 1e-3, 1)
    X, y = split.X, split.y
    K = mapped(0.5 * np.eye(3))(X)
    norm = np.linalg.norm(K)
    W = np.outer(y, y) * K / norm - (y @ K @ y) / norm**3 * K**2
    D = X[:, None] - X
    bracket = np.einsum("ij,ijk,ijl->kl", -2 * W, D, D)
    np.testing.assert_allclose(ascent.maps[1], (np.eye(3) + 1e-3 * bracket) @ (0.5 * np.eye(3)))


def test_bound_falls(split):
    descent = fixed_steps("radius_margin", split, np.eye(3) / np.sqrt(2), 0.02, 10)
    assert len(descent.maps) == 11
    assert (np.diff(descent.values) < 0).all()


def test_machine_of_a_good_kernel(split):
    machine = evaluate_kernel(mapped(np.diag([1.0, 1.0, 0.01])), split)
    assert machine.error < 25
    assert machine.support() <= machine.support(0.0) <= 40


def test_directions_are_gradients(split):
    S = 0.5 * np.eye(3) + 0.1
    h = 1e-6
    for objective, factor in ((Alignment(split), len(split.y)), (RadiusMargin(split), -1.0)):
        direction = objective(S)[1]
        for i in np.ndindex(3, 3):
            E = np.zeros((3, 3))
            E[i] = h
            slope = (objective(S + E)[0] - objective(S - E)[0]) / (2 * h)
            assert direction[i] == pytest.approx(factor * slope, rel=1e-4, abs=1e-5)

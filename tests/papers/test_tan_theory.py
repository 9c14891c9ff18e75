"""The counter-examples to Theorem 1, digit by digit, and the closed form of u."""

import numpy as np
import pytest

from papers.tan_theory import COUNTER_EXAMPLES, Mixture, stationary_points


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (0, [(1.351926, 0.546058), (12.709533, 0.181071), (87.353822, 0.250379)]),
        (1, [(0.849322, 0.395285), (2.710057, 0.379696), (10.021828, 0.456735)]),
    ],
)
def test_three_stationary_points(example, expected):
    x, y = (np.array(part, dtype=float) for part in COUNTER_EXAMPLES[example])
    np.testing.assert_allclose(stationary_points(x, y), expected, atol=1e-5)


def test_closed_form_beats_a_grid(rng):
    for _ in range(30):
        problem = Mixture.draw(rng)
        best = problem.alignment(problem.best_weight())
        assert best >= max(problem.alignment(u) for u in np.linspace(0, 1, 101)) - 1e-12

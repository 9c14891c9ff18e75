import numpy as np
import pytest

from gramsmith.learning.penalty import Penalty


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_derivative_equals_differences(shape, rng):
    penalty = Penalty(shape, l1=0.3, l2=0.7, width=1e-3)
    theta = rng.uniform(0.5, 2.0, size=shape).ravel()
    _, slope = penalty(theta)
    step = 1e-6
    differences = [
        (penalty(theta + step * e)[0] - penalty(theta - step * e)[0]) / (2 * step)
        for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(slope, differences, rtol=1e-6)


def test_rows_are_groups():
    S = np.array([[3.0, 4.0], [0.0, 0.0]])
    value, slope = Penalty((2, 2), l1=1.0, width=1e-9)(S.ravel())
    assert value == pytest.approx(5.0)
    np.testing.assert_allclose(slope.reshape(2, 2), [[0.6, 0.8], [0.0, 0.0]])


def test_weights_are_their_own_groups():
    assert Penalty((2,), l1=1.0, l2=0.5)(np.array([1.0, 2.0]))[0] == pytest.approx(3.0 + 2.5)

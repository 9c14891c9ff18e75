import numpy as np
import pytest

from gramsmith.learning.penalty import Penalty, spreading_price


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_derivative_equals_differences(shape, rng):
    spread = rng.uniform(0.5, 2.0, size=4)
    penalty = Penalty(shape, l1=0.3, l2=0.7, spreading=0.4, width=1e-3, deviations=spread)
    theta = rng.uniform(0.5, 2.0, size=shape).ravel()
    slope = penalty(theta)[1].ravel()
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


@pytest.mark.parametrize("S", [np.array([1.0, 2.0, 0.5]), np.ones((3, 2))])
def test_units_do_not_matter(S):
    prices = {"l1": 0.1, "l2": 0.2, "spreading": 0.3, "width": 1e-9}
    one = Penalty(S.shape, **prices, deviations=np.ones(3))(S)[0]
    assert Penalty(S.shape, **prices, deviations=np.full(3, 1e6))(S / 1e6)[0] == pytest.approx(one)


def test_spreading_counts_features_and_not_their_size():
    penalty = Penalty((4,), spreading=1.0)
    assert penalty(np.array([5.0, 0.0, 0.0, 0.0]))[0] == pytest.approx(1.0)
    assert penalty(np.full(4, 0.1))[0] == pytest.approx(2.0)
    assert penalty(np.zeros(4))[0] == 0.0


def test_the_price_of_spreading_falls_with_the_noise():
    assert spreading_price(1000) == pytest.approx(0.1 * spreading_price(100))
    assert spreading_price(3) == spreading_price(2)

import numpy as np
import pytest

from gramsmith.learning.penalty import Penalty, make_phases, spreading_price


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_derivative_equals_differences(shape, rng):
    spread = rng.uniform(0.5, 2.0, size=4)
    penalty = Penalty(l1=0.3, l2=0.7, spreading=0.4, width=1e-3, deviations=spread)
    S = rng.uniform(0.5, 2.0, size=shape)
    slope = penalty(S)[1].ravel()
    steps = 1e-6 * np.eye(S.size).reshape(-1, *shape)
    differences = [(penalty(S + e)[0] - penalty(S - e)[0]) / 2e-6 for e in steps]
    np.testing.assert_allclose(slope, differences, rtol=1e-6)


def test_rows_are_groups():
    S = np.array([[3.0, 4.0], [0.0, 0.0]])
    value, slope = Penalty(l1=1.0, width=1e-9)(S)
    assert value == pytest.approx(5.0)
    np.testing.assert_allclose(slope, [[0.6, 0.8], [0.0, 0.0]])


def test_weights_are_their_own_groups():
    assert Penalty(l1=1.0, l2=0.5)(np.array([1.0, 2.0]))[0] == pytest.approx(3.0 + 2.5)


@pytest.mark.parametrize("S", [np.array([1.0, 2.0, 0.5]), np.ones((3, 2))])
def test_units_do_not_matter(S):
    prices = {"l1": 0.1, "l2": 0.2, "spreading": 0.3, "width": 1e-9}
    one = Penalty(**prices, deviations=np.ones(3))(S)[0]
    assert Penalty(**prices, deviations=np.full(3, 1e6))(S / 1e6)[0] == pytest.approx(one)


def test_spreading_counts_features_and_not_their_size():
    penalty = Penalty(spreading=1.0)
    assert penalty(np.array([5.0, 0.0, 0.0, 0.0]))[0] == pytest.approx(1.0)
    assert penalty(np.full(4, 0.1))[0] == pytest.approx(2.0)
    assert penalty(np.zeros(4))[0] == 0.0


def test_the_price_of_spreading_falls_with_the_noise():
    assert spreading_price(1000) == pytest.approx(0.1 * spreading_price(100))
    assert spreading_price(3) == spreading_price(2)


def test_prices_come_in_after_a_free_search():
    """From a start of equal weights an early price could remove what is needed."""
    S = np.ones(3)
    for penalty, first in (
        (Penalty(l1=1.0, deviations=S), 50),
        (Penalty(l2=1.0, deviations=S), 50),
    ):
        phases = make_phases(S, penalty, 2, True, 100)
        assert [(phase.priced, phase.max_iter) for phase in phases] == [(False, first), (True, 100)]
    phases = make_phases(S, Penalty(spreading=0.1, deviations=S), 2, True, 100)
    assert [(phase.priced, phase.max_iter) for phase in phases] == [(False, 100), (True, 100)]
    assert [phase.coordinates.power for phase in phases] == [2, 1]


@pytest.mark.parametrize(
    ("S", "penalty", "free_first"),
    [
        (np.ones(3), Penalty(deviations=np.ones(3)), True),
        (np.eye(3), Penalty(l1=1.0, deviations=np.ones(3)), True),
        (np.ones(3), Penalty(l1=1.0, deviations=np.ones(3)), False),
    ],
)
def test_one_search_where_nothing_can_be_lost(S, penalty, free_first):
    (phase,) = make_phases(S, penalty, 1, free_first, 100)
    assert (phase.priced, phase.max_iter) == (True, 100)

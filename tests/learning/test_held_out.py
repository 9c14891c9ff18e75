import numpy as np
import pytest

from gramsmith.learning.held_out import check_fraction, hold_out, take_rows
from gramsmith.targets import make_target


def test_classes_keep_their_proportions():
    y = np.repeat([0, 1], [80, 20])
    learn, held = hold_out(make_target(y), 0.25, np.random.RandomState(0))
    assert np.bincount(y[held]).tolist() == [20, 5]
    assert sorted([*learn, *held]) == list(range(100))


def test_values_are_drawn_at_random():
    y = np.linspace(0, 1, 50)
    learn, held = hold_out(make_target(y), 0.2, np.random.RandomState(0))
    assert (len(learn), len(held)) == (40, 10)


def test_too_few_samples_cannot_be_spared():
    assert hold_out(make_target([0, 0, 0, 1, 1, 1]), 0.2, np.random.RandomState(0)) is None
    assert hold_out(make_target(np.linspace(0, 1, 20)), 0.2, np.random.RandomState(0)) is None


def test_take_rows_of_objects():
    assert take_rows(["a", "b", "c"], np.array([2, 0])) == ["c", "a"]


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 2.0])
def test_fractions_lie_between(fraction):
    with pytest.raises(ValueError, match="validation_fraction"):
        check_fraction(fraction)

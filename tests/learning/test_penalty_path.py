import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramsmith.learning import PenaltyPath, penalty_path
from oracle.plain_learners import TransformLearner


@pytest.fixture
def parity(rng):
    X = rng.normal(size=(200, 6))
    return X, X[:, 0] * X[:, 1] > 0


def test_features_leave_as_the_penalty_grows(parity):
    path = penalty_path(*parity)
    assert isinstance(path, PenaltyPath)
    assert path.weights.shape == (12, 6)
    assert np.all(np.diff(path.counts) <= 0)
    assert path.counts[-1] < path.counts[0] or path.counts[0] == 2
    assert np.flatnonzero(path.weights[path.best]).tolist() == [0, 1]
    assert np.nanmax(path.held_out) - path.held_out[path.best] <= 0.01 * np.nanmax(path.held_out)


def test_given_penalties_and_learner(parity):
    learner = TransformLearner(measure="kta", structure="full", random_state=1)
    path = penalty_path(*parity, penalties=[0.05, 0.0], learner=learner)
    np.testing.assert_array_equal(path.penalties, [0.0, 0.05])
    assert learner.structure == "full"  # a copy was used
    assert path.values[0] >= path.values[1]


def test_the_end_of_the_path_is_empty(parity):
    path = penalty_path(*parity, penalties=[0.01, 100.0, 200.0])
    assert path.counts.tolist()[1:] == [0, 0]
    assert np.isnan(path.held_out[1:]).all()
    assert path.best == 0


def test_negative_penalties_are_refused(parity):
    with pytest.raises(ValueError, match="penalties >= 0"):
        penalty_path(*parity, penalties=[-1.0])


def test_penalties_that_leave_nothing(parity):
    with pytest.raises(ValueError, match="leave a feature"):
        penalty_path(*parity, penalties=[100.0, 200.0])


def test_one_penalty(parity):
    assert penalty_path(*parity, penalties=0.01).weights.shape == (1, 6)
    with pytest.raises(ValueError, match="penalties >= 0"):
        penalty_path(*parity, penalties=[])


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_the_unit_of_the_data_does_not_matter(unit, parity):
    X, y = parity
    one, other = penalty_path(X, y), penalty_path(unit * X, y)
    np.testing.assert_allclose(other.values, one.values, atol=2e-3)
    assert np.flatnonzero(other.weights[other.best]).tolist() == [0, 1]


def test_an_interrupt_ends_the_path(parity):
    calls = []

    def callback(info):
        calls.append(info)
        if len(calls) > 40:
            raise KeyboardInterrupt

    learner = TransformLearner(random_state=0, callback=callback)
    with pytest.warns(ConvergenceWarning):
        path = penalty_path(*parity, learner=learner)
    assert 0 < len(path.penalties) < 12
    assert len(path.values) == len(path.penalties)

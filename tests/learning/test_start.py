import numpy as np
import pytest

from gramsmith.learning.start import REACH, check_structure, make_start, reach

RNG = np.random.RandomState(0)


def test_ranks():
    assert check_structure("diagonal", None, 5) == 5
    assert check_structure("full", None, 5) == 5
    assert check_structure("low_rank", 3, 5) == 3
    assert check_structure("low_rank", None, 1) == 1


@pytest.mark.parametrize("rank", [0, -1, 6, 2.5])
def test_ranks_out_of_range(rank):
    with pytest.raises(ValueError, match=r"1 <= rank <= 5"):
        check_structure("low_rank", rank, 5)


def test_unknown_structure():
    with pytest.raises(ValueError, match="diagonal, full, low_rank"):
        check_structure("banded", None, 5)


def test_the_isotropic_start_has_unit_mean_distance(rng):
    X = rng.normal(size=(500, 4)) * [1.0, 2.0, 3.0, 4.0] + 100.0
    Z = X * make_start(X, "diagonal", 4, None, None, RNG)
    i, j = rng.integers(500, size=(2, 20000))
    assert np.mean(((Z[i] - Z[j]) ** 2).sum(axis=1)) == pytest.approx(1.0, rel=0.05)


def test_shapes(rng):
    X = rng.normal(size=(30, 4))
    assert make_start(X, "diagonal", 4, None, None, RNG).shape == (4,)
    assert make_start(X, "full", 4, None, None, RNG).shape == (4, 4)
    low = make_start(X, "low_rank", 2, None, None, RNG)
    assert np.linalg.matrix_rank(low) == 2


def test_zero_is_refused_with_the_reason(rng):
    with pytest.raises(ValueError, match="Zero is stationary"):
        make_start(rng.normal(size=(5, 2)), "full", 2, np.zeros((2, 2)), None, RNG)


def test_wrong_starts(rng):
    X = rng.normal(size=(5, 2))
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        make_start(X, "full", 2, np.ones(2), None, RNG)
    with pytest.raises(ValueError, match="NaN"):
        make_start(X, "diagonal", 2, [np.nan, 1.0], None, RNG)


def test_reach_follows_the_spread(rng):
    X = rng.normal(size=(50, 2)) * [1.0, 10.0]
    limits = reach(np.array([1.0, 1.0]), X, True)
    assert limits[1, 1] == pytest.approx(REACH)
    assert limits[0, 1] > 5 * limits[1, 1]
    assert (limits[:, 0] == 0).all()
    assert reach(np.eye(2), X, False).shape == (4, 2)

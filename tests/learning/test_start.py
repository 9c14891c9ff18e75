import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.start import (
    DISTANCE,
    REACH,
    check_structure,
    deviations,
    distance_power,
    knows_its_width,
    make_start,
    map_chart,
    own_scale,
)

RNG = np.random.RandomState(0)


def test_ranks():
    assert check_structure("diagonal", None, 5) == 5
    assert check_structure("full", None, 5) == 5
    assert check_structure("low_rank", 3, 5) == 3
    assert check_structure("low_rank", None, 1) == 1


@pytest.mark.parametrize("structure", ["low_rank", "diagonal"])
@pytest.mark.parametrize("rank", [0, -1, 6, 2.5, "a"])
def test_ranks_out_of_range(rank, structure):
    with pytest.raises(ValueError, match=r"1 <= rank <= 5"):
        check_structure(structure, rank, 5)


def test_unknown_structure():
    with pytest.raises(ValueError, match="diagonal, full, low_rank"):
        check_structure("banded", None, 5)


@pytest.mark.parametrize("scale", [1.0, 7.0])
def test_the_isotropic_start_has_a_fixed_mean_distance(scale, rng):
    X = rng.normal(size=(500, 4)) * [1.0, 2.0, 3.0, 4.0] + 100.0
    Z = X * make_start(X, "diagonal", 4, None, scale, RNG) / scale
    i, j = rng.integers(500, size=(2, 20000))
    assert np.mean(((Z[i] - Z[j]) ** 2).sum(axis=1)) == pytest.approx(DISTANCE**2, rel=0.05)


def test_shapes(rng):
    X = rng.normal(size=(30, 4))
    assert make_start(X, "diagonal", 4, None, 1.0, RNG).shape == (4,)
    assert make_start(X, "full", 4, None, 1.0, RNG).shape == (4, 4)
    low = make_start(X, "low_rank", 2, None, 1.0, RNG)
    assert np.linalg.matrix_rank(low) == 2


def test_zero_is_refused_with_the_reason(rng):
    with pytest.raises(ValueError, match="Zero is stationary"):
        make_start(rng.normal(size=(5, 2)), "full", 2, np.zeros((2, 2)), 1.0, RNG)


def test_wrong_starts(rng):
    X = rng.normal(size=(5, 2))
    with pytest.raises(ValueError, match=r"shape \(2, 2\)"):
        make_start(X, "full", 2, np.ones(2), 1.0, RNG)
    with pytest.raises(ValueError, match="NaN"):
        make_start(X, "diagonal", 2, [np.nan, 1.0], 1.0, RNG)


def test_a_start_that_is_no_array(rng):
    with pytest.raises(ValueError, match="array of numbers"):
        make_start(rng.normal(size=(5, 2)), "diagonal", 2, "identity", 1.0, RNG)


def test_coordinates_do_not_depend_on_units(rng):
    X = rng.normal(size=(50, 2)) * [1.0, 10.0]
    for power in (1, 2):
        charts = [
            map_chart(make_start(c * X, "diagonal", 2, None, 1.0, RNG), deviations(c * X), power)
            for c in (1e-4, 1.0, 1e6)
        ]
        for chart, c in zip(charts, (1e-4, 1.0, 1e6), strict=True):
            np.testing.assert_allclose(chart.limits, charts[1].limits)
            np.testing.assert_allclose(chart.units * c, charts[1].units)
        np.testing.assert_allclose(charts[0].limits, [[0.0, REACH**power]] * 2)


def test_a_feature_that_varies_ten_times_more_has_a_unit_ten_times_smaller(rng):
    X = rng.normal(size=(50, 2)) * [1.0, 10.0]
    units = map_chart(np.ones(2), deviations(X), 2).units
    assert units[0] > 5 * units[1]
    assert map_chart(np.eye(2), deviations(X), 1).limits.shape == (4, 2)


def test_constant_features_have_the_deviation_of_the_others():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(deviations(X), [1.0, 1.0])
    np.testing.assert_allclose(deviations(np.ones((3, 2))), [1.0, 1.0])


def test_powers_and_scales_of_kernels():
    assert distance_power(gs.Gaussian()) == 2
    assert distance_power(gs.Gaussian() + gs.Laplacian()) == 1
    assert own_scale(gs.Gaussian(2.0)) == pytest.approx(2.0 * np.sqrt(2.0))
    assert own_scale(gs.Linear()) == 1.0
    assert knows_its_width(gs.Matern())
    assert not knows_its_width(gs.Laplacian())

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.kernels import Fixed
from gramsmith.learning.coordinates import REACH, make_coordinates, map_coordinates
from gramsmith.learning.start import deviations, make_start

RNG = np.random.RandomState(0)


def test_reads_positive_parameters_on_the_log_scale():
    kernel = gs.Gaussian(2.0) + gs.Sigmoid(gamma=0.5, coef0=-1.0)
    coordinates = make_coordinates(kernel)
    assert coordinates.names == ("k1__length_scale", "k2__gamma", "k2__coef0")
    np.testing.assert_allclose(coordinates.read(kernel), [np.log(2.0), np.log(0.5), -1.0])


def test_write_undoes_read(rng):
    kernel = gs.Gaussian(np.array([1.0, 3.0])) @ gs.LinearMap(rng.normal(size=(4, 2)))
    coordinates = make_coordinates(kernel)
    theta = rng.normal(size=len(coordinates.limits))
    coordinates.write(kernel, theta)
    np.testing.assert_allclose(coordinates.read(kernel), theta)
    assert kernel.map.S.shape == (4, 2)


def test_scalars_stay_numbers():
    kernel = gs.Gaussian(2.0)
    coordinates = make_coordinates(kernel)
    coordinates.write(kernel, np.array([0.0]))
    assert isinstance(kernel.length_scale, float)


def test_pull_is_the_chain_rule():
    kernel = gs.Gaussian(2.0)
    np.testing.assert_allclose(
        make_coordinates(kernel).gradient(kernel, {"length_scale": 3.0}), [6.0]
    )


def test_chosen_parameters_and_bounds():
    kernel = Fixed(gs.RationalQuadratic(1.0, alpha=2.0), ["length_scale"])
    coordinates = make_coordinates(gs.Bounded(kernel, {"kernel__alpha": (0.1, 10.0)}))
    assert coordinates.names == ("kernel__kernel__alpha",)
    np.testing.assert_allclose(coordinates.limits, np.log([[0.1, 10.0]]))
    assert coordinates.at_limits(np.log([10.0])) == ["kernel__kernel__alpha"]
    assert coordinates.at_limits(np.log([2.0])) == []


def test_kernels_without_parameters_have_no_coordinates():
    with pytest.raises(ValueError, match="Linear"):
        make_coordinates(gs.Linear())


def test_coordinates_do_not_depend_on_units(rng):
    X = rng.normal(size=(50, 2)) * [1.0, 10.0]
    for power in (1, 2):
        found = [
            map_coordinates(
                make_start(c * X, "diagonal", 2, None, 1.0, RNG), deviations(c * X), power
            )
            for c in (1e-4, 1.0, 1e6)
        ]
        for each, c in zip(found, (1e-4, 1.0, 1e6), strict=True):
            np.testing.assert_allclose(each.limits, found[1].limits)
            np.testing.assert_allclose(each.units * c, found[1].units)
        np.testing.assert_allclose(found[0].limits, [[0.0, REACH**power]] * 2)


def test_a_feature_that_varies_ten_times_more_has_a_unit_ten_times_smaller(rng):
    X = rng.normal(size=(50, 2)) * [1.0, 10.0]
    units = map_coordinates(np.ones(2), deviations(X), 2).units
    assert units[0] > 5 * units[1]
    assert map_coordinates(np.eye(2), deviations(X), 1).limits.shape == (4, 2)

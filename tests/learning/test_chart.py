import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.chart import make_chart


def test_reads_positive_parameters_on_the_log_scale():
    kernel = gs.Gaussian(2.0) + gs.Sigmoid(gamma=0.5, coef0=-1.0)
    chart = make_chart(kernel)
    assert chart.names == ("k1__length_scale", "k2__gamma", "k2__coef0")
    np.testing.assert_allclose(chart.read(kernel), [np.log(2.0), np.log(0.5), -1.0])


def test_write_undoes_read(rng):
    kernel = gs.Gaussian(np.array([1.0, 3.0])) @ gs.LinearMap(rng.normal(size=(4, 2)))
    chart = make_chart(kernel)
    theta = rng.normal(size=chart.size)
    chart.write(kernel, theta)
    np.testing.assert_allclose(chart.read(kernel), theta)
    assert kernel.map.S.shape == (4, 2)


def test_scalars_stay_numbers():
    kernel = gs.Gaussian(2.0)
    chart = make_chart(kernel)
    chart.write(kernel, np.array([0.0]))
    assert isinstance(kernel.length_scale, float)


def test_pull_is_the_chain_rule():
    kernel = gs.Gaussian(2.0)
    np.testing.assert_allclose(make_chart(kernel).pull(kernel, {"length_scale": 3.0}), [6.0])


def test_chosen_parameters_and_bounds():
    kernel = gs.RationalQuadratic(1.0, alpha=2.0)
    chart = make_chart(kernel, ["alpha"], {"alpha": (0.1, 10.0)})
    assert chart.names == ("alpha",)
    np.testing.assert_allclose(chart.limits, np.log([[0.1, 10.0]]))
    assert chart.at_limits(np.log([10.0])) == ["alpha"]
    assert chart.at_limits(np.log([2.0])) == []


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (gs.Linear(), {}, "Linear"),
        (gs.Gaussian(), {"parameters": ["gamma"]}, "'gamma'"),
        (gs.Gaussian(), {"bounds": {"length_scale": (0.0, 1.0)}}, "low > 0"),
        (gs.Gaussian(), {"bounds": {"length_scale": (2.0, 1.0)}}, "low < high"),
    ],
)
def test_bad_charts(kernel, options, message):
    with pytest.raises(ValueError, match=message):
        make_chart(kernel, **options)

import numpy as np
import pytest

import golden
import gramsmith as gs
import textbook as tb
from gramsmith.learning.chart import make_chart
from gramsmith.learning.criterion import CRITERIA, make_objective
from gramsmith.learning.objective import check_dense, contract
from gramsmith.measures import MEASURES, Undefined
from gramsmith.targets import make_target

S = np.array([[0.7, 0.1], [0.2, 0.6], [0.1, 0.3]])
KERNELS = {
    "full map": gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(S),
    "diagonal map": gs.Laplacian(1.0, norm="l2") @ gs.LinearMap(S[:, 0]),
    "expression": 0.5 * gs.Gaussian(np.array([1.0, 2.0, 0.5])) + gs.Polynomial(2),
}
TARGETS = {"binary": golden.y, "classes": golden.lab, "values": golden.yr}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", [*MEASURES, *CRITERIA])
def test_gradient_equals_differences(name, kernel, target):
    kernel = KERNELS[kernel]
    try:
        objective = make_objective(name, golden.X, make_target(TARGETS[target]), C=10.0)
    except Undefined:
        pytest.skip("not defined for this target")
    chart = make_chart(kernel)
    theta = chart.read(kernel)
    value, gradient = objective.value_and_gradient(kernel)
    if not np.isfinite(value):
        assert gradient == {}
        return

    def at(point):
        chart.write(kernel, point)
        return objective.value(kernel)

    gradient = chart.pull(kernel, gradient)
    step = 1e-5
    differences = [
        (at(theta + step * e) - at(theta - step * e)) / (2 * step) for e in np.eye(len(theta))
    ]
    chart.write(kernel, theta)
    assert value == pytest.approx(objective.value(kernel), rel=1e-12)
    scale = np.abs(differences).max()
    np.testing.assert_allclose(gradient, differences, atol=2e-5 * scale + 1e-9)


def test_contract_equals_the_dense_derivative(rng):
    kernel = gs.Gaussian(0.8)
    W = rng.normal(size=(12, 12))
    W = W + W.T
    D = ((golden.X[:, None] - golden.X) ** 2).sum(axis=2)
    expected = np.sum(W * kernel(golden.X) * D) / 0.8**3
    assert contract(kernel, golden.X, W)["length_scale"] == pytest.approx(expected)


def test_golden_derivatives():
    """The map at I/sqrt 2 is the Gaussian of width one."""
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.eye(3) / np.sqrt(2))
    target = make_target(golden.y)
    for name, key in (("kta", "d_kta_d_S_diag"), ("fsm", "d_fsm_d_S_diag")):
        _, gradient = make_objective(name, golden.X, target).value_and_gradient(kernel)
        expected, tolerance = golden.GOLDEN[key]
        np.testing.assert_allclose(np.diag(gradient["map__S"]), expected, atol=tolerance)
    _, gradient = make_objective("kta", golden.X, target).value_and_gradient(kernel)
    assert gradient["map__S"][0, 1] == pytest.approx(golden.GOLDEN["d_kta_d_S_01"][0], abs=1e-8)


def test_dense_and_streamed_agree():
    target = make_target(golden.y)
    objective = make_objective("cka", golden.X, target)
    value = objective.value(gs.Gaussian(1.0))
    assert value == pytest.approx(tb.cka(golden.K, golden.y), abs=1e-12)


def test_what_does_not_fit_is_said_before_the_work():
    check_dense("ridge_loo", 1000, memory=2**30)
    with pytest.raises(MemoryError, match=r"100000 x 100000.*'ridge_loo'.*fewer samples"):
        check_dense("ridge_loo", 100_000, memory=2**30)

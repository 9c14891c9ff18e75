import numpy as np
import pytest

import golden
import textbook as tb
from gramsmith.kernels import Gaussian, LinearMap
from gramsmith.learning.criterion import make_objective
from gramsmith.learning.radius_margin import RadiusMarginCriterion
from gramsmith.measures import Undefined
from gramsmith.targets import make_target


def test_golden_value_and_gradient():
    objective = make_objective("radius_margin", golden.X, make_target(golden.y), C=10.0)
    kernel = Gaussian.from_gamma(1.0) @ LinearMap(np.eye(3) / np.sqrt(2))
    value, gradient = objective.value_and_gradient(kernel)
    bound = np.exp(value)
    assert bound == pytest.approx(golden.GOLDEN["rmb"][0], abs=1e-6)
    expected, tolerance = golden.GOLDEN["d_rmb_d_S_diag"]
    np.testing.assert_allclose(bound * np.diag(gradient["map__S"]), expected, atol=tolerance)


def test_derivative_is_that_of_the_bound():
    criterion = RadiusMarginCriterion(make_target(golden.y), 10.0)
    value, dK = criterion(golden.K, True)
    expected, _ = tb.d_radius_margin(golden.K, golden.y, 10.0)
    np.testing.assert_allclose(np.exp(value) * dK, expected, atol=1e-5)


def test_more_classes_add_up():
    value, _ = RadiusMarginCriterion(make_target(golden.lab), 10.0)(golden.K, False)
    _, r2 = tb.enclosing_ball(golden.K, 10.0)
    w2 = sum(tb.l2_svm(golden.K, np.where(golden.lab == c, 1, -1), 10.0)[2] for c in range(3))
    assert np.exp(value) == pytest.approx(r2 * w2, rel=1e-6)


def test_warm_start_changes_nothing():
    criterion = RadiusMarginCriterion(make_target(golden.y), 10.0)
    for width in (0.5, 0.7, 1.0):
        K = golden.K ** (1 / width**2)
        warm, _ = criterion(K, False)
        cold, _ = RadiusMarginCriterion(make_target(golden.y), 10.0)(K, False)
        assert warm == pytest.approx(cold, rel=1e-9)


def test_needs_classes_and_a_penalty():
    with pytest.raises(Undefined, match="classes"):
        RadiusMarginCriterion(make_target(golden.yr))
    with pytest.raises(ValueError, match="C > 0"):
        RadiusMarginCriterion(make_target(golden.y), 0.0)

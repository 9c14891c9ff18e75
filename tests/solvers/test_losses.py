"""Every loss: derivatives by finite differences, coding, probabilities."""

import numpy as np
import pytest

from gramsmith.solvers.losses import LOSSES, Logistic, SmoothHinge, make_loss

SCALAR = [name for name in LOSSES if name != "multinomial"]


@pytest.mark.parametrize("name", SCALAR)
def test_derivatives(rng, name):
    loss = make_loss(name)
    f = rng.normal(size=200) * 2
    y = loss.encode(rng.integers(0, 2, size=200), 2)
    assert set(y) == {-1.0, 1.0}
    h = 1e-6
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(y, f), slope, atol=1e-5)
    smooth = np.abs(np.abs(1 - y * f) - getattr(loss, "width", 0.0)) > 1e-3  # away from the joints
    curvature = (loss.slope(y, f + h) - loss.slope(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(y, f)[smooth], curvature[smooth], atol=1e-5)
    assert (loss.curvature(y, f) >= 0).all()


def test_multinomial_derivatives(rng):
    loss = make_loss("multinomial")
    f = rng.normal(size=(20, 4))
    y = loss.encode(rng.integers(0, 4, size=20), 4)
    h, e = 1e-6, np.eye(4)
    p = loss.curvature(y, f)
    for c in range(4):
        up, down = f + h * e[c], f - h * e[c]
        np.testing.assert_allclose(
            loss.slope(y, f)[:, c], (loss.value(y, up) - loss.value(y, down)) / (2 * h), atol=1e-6
        )
        np.testing.assert_allclose(
            p * e[c] - p * p[:, [c]],
            (loss.slope(y, up) - loss.slope(y, down)) / (2 * h),
            atol=1e-6,
        )
    np.testing.assert_allclose(loss.probability(f).sum(axis=1), 1.0)


def test_logistic_never_overflows():
    loss, f = Logistic(), np.array([-1e4, 1e4])
    y = np.array([1.0, 1.0])
    np.testing.assert_allclose(loss.value(y, f), [1e4, 0.0])
    np.testing.assert_allclose(loss.probability(f), [[1, 0], [0, 1]])


def test_smooth_hinge_is_close_to_the_hinge():
    z = np.linspace(-2, 3, 501)
    gap = SmoothHinge(0.2).value(np.ones(501), z) - np.maximum(0, 1 - z)
    assert gap.min() >= 0
    assert gap.max() == pytest.approx(0.05)


def test_unknown_name():
    with pytest.raises(ValueError, match="logistic"):
        make_loss("exponential")


@pytest.mark.parametrize("name", ["squared", "squared_hinge", "hinge"])
def test_improper_losses_give_no_probabilities(name):
    assert not make_loss(name).proper
    with pytest.raises(TypeError, match="no probabilities"):
        make_loss(name).probability(np.zeros(2))


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_logarithms_of_probabilities_are_finite(name, rng):
    loss = make_loss(name)
    f = rng.normal(size=20) if name == "logistic" else rng.normal(size=(20, 3))
    np.testing.assert_allclose(loss.log_probability(f), np.log(loss.probability(f)), rtol=1e-10)
    assert np.isfinite(loss.log_probability(1e5 * f)).all()

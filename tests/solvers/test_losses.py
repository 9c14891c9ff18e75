"""Every loss: derivatives by finite differences, coding, probabilities."""

import numpy as np
import pytest

from gramsmith.solvers.losses import LOSSES, Logistic, Multinomial, SmoothHinge, code_targets


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives(rng, name):
    loss = LOSSES[name]()
    f = rng.normal(size=200) * 2
    y = code_targets(rng.integers(0, 2, size=200), 2)
    assert set(y) == {-1.0, 1.0}
    h = 1e-6
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(y, f), slope, atol=1e-5)
    smooth = np.abs(np.abs(1 - y * f) - getattr(loss, "width", 0.0)) > 1e-3  # away from the joints
    curvature = (loss.slope(y, f + h) - loss.slope(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(y, f)[smooth], curvature[smooth], atol=1e-5)
    assert (loss.curvature(y, f) >= 0).all()


def test_multinomial_derivatives(rng):
    loss = Multinomial()
    f = rng.normal(size=(20, 4))
    y = code_targets(rng.integers(0, 4, size=20), 4)
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


@pytest.mark.parametrize("loss", [Logistic(), Multinomial()], ids=lambda loss: type(loss).__name__)
def test_logarithms_of_probabilities_are_finite(loss, rng):
    f = rng.normal(size=20) if isinstance(loss, Logistic) else rng.normal(size=(20, 3))
    np.testing.assert_allclose(loss.log_probability(f), np.log(loss.probability(f)), rtol=1e-10)
    assert np.isfinite(loss.log_probability(1e5 * f)).all()

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.learning.objective import KernelObjective
from gramsmith.learning.start import (
    DISTANCE,
    check_rank,
    choose_start,
    deviations,
    distance_power,
    has_width,
    kernel_scale,
    make_start,
)
from gramsmith.targets import make_target
from oracle.plain_learners import TransformLearner

RNG = np.random.RandomState(0)


def test_ranks():
    assert check_rank("diagonal", None, 5) == 5
    assert check_rank("full", None, 5) == 5
    assert check_rank("low_rank", 3, 5) == 3
    assert check_rank("low_rank", None, 1) == 1
    for structure in ("low_rank", "diagonal"):
        with pytest.raises(ValueError, match=r"1 <= rank <= 5"):
            check_rank(structure, 6, 5)


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


def test_constant_features_have_the_deviation_of_the_others():
    X = np.array([[1.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(deviations(X), [1.0, 1.0])
    np.testing.assert_allclose(deviations(np.ones((3, 2))), [1.0, 1.0])


def test_powers_and_scales_of_kernels():
    assert distance_power(gs.Gaussian()) == 2
    assert distance_power(gs.Gaussian() + gs.Laplacian()) == 1
    assert kernel_scale(gs.Gaussian(2.0)) == pytest.approx(2.0 * np.sqrt(2.0))
    assert kernel_scale(gs.Linear()) == 1.0
    assert has_width(gs.Matern())
    assert not has_width(gs.Laplacian())


def mapped(X, y, measure="cka"):
    kernel = gs.Gaussian.from_gamma(1.0) @ gs.LinearMap(np.ones(X.shape[1]))
    return kernel, KernelObjective(measure, X, make_target(y))


@pytest.mark.parametrize("factor", [1e-2, 8.0])
def test_the_best_of_several_widths(factor, rng):
    X = rng.normal(size=(120, 5))
    y = X[:, 0] * X[:, 1] > 0
    kernel, objective = mapped(X, y)
    found = choose_start(kernel, np.full(5, factor), [objective], every=True)
    values = [gs.cka(gs.Gaussian.from_gamma(1.0)(X * s), y) for s in (factor, found[0])]
    assert values[1] > values[0]


def test_the_first_width_with_a_value_will_do(rng):
    """Leave-one-out FSM is infinite for a kernel that tells nothing."""
    X = rng.normal(size=(60, 2)) + 3.0 * (np.arange(60) % 2)[:, None]
    kernel, objective = mapped(X, np.arange(60) % 2, "fsm_loo")
    start = np.full(2, 1e6)
    kernel.set_params(map__S=start)
    assert not np.isfinite(objective.value(kernel))
    assert choose_start(kernel, start, [objective], every=False) is None
    assert choose_start(kernel, np.ones(2), [objective], every=False).tolist() == [1.0, 1.0]


def test_the_identity_is_no_start(rng):
    """A random projection tells little, and an alignment then likes the identity best."""
    X = rng.normal(size=(200, 6))
    y = X[:, 0] * X[:, 1] > 0
    learner = TransformLearner(
        "laplacian", structure="low_rank", rank=2, early_stopping=False, random_state=0
    ).fit(X, y)
    assert learner.value_ > 0.2

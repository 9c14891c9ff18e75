"""Moments add, mix and give folds back; dual numbers follow the rules of calculus."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.measures import MEASURES
from gramsmith.measures.alignment import kernel_products
from gramsmith.moments import Adjoint, Scalar
from gramsmith.targets import make_target


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(45, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int), np.sort(rng.integers(0, 5, size=45))


@pytest.mark.parametrize("kernel", [gs.Gaussian(), gs.Linear()], ids=str)
def test_a_fold_can_be_taken_out(kernel, problem):
    X, y, fold = problem
    goal = make_target(y)
    moments = gs.Gram(kernel, X).moments(goal, fold=fold)
    whole = gs.Gram(kernel, X).moments(goal)
    for measure in MEASURES.values():
        assert measure.value(moments, goal) == pytest.approx(measure.value(whole, goal), rel=1e-11)
    for f in range(5):
        rest, index = moments.without(f)
        part = goal.take(index)
        direct = gs.Gram(kernel, X[index]).moments(part)
        for measure in MEASURES.values():
            assert measure.value(rest, part) == pytest.approx(measure.value(direct, part), rel=1e-9)


@pytest.mark.parametrize("projection", ["plain", "centred", "debiased"])
def test_products_of_kernels_without_a_fold(projection, problem):
    X, y, fold = problem
    goal = make_target(y, sample_weight=1.0 + np.arange(45) % 2)
    kernels = [gs.Linear(), gs.Linear() @ gs.LinearMap(np.diag([1.0, 2.0, 0.5]))]
    X = X + 3.0  # so that what is added back is not small
    moments = gs.Gram(kernels, X).moments(goal, fold=fold, cross=True)
    for f in range(5):
        rest, index = moments.without(f)
        part = goal.take(index)
        rest = rest.reweighted(part.w[0] / goal.w[index[0]])
        direct = gs.Gram(kernels, X[index]).moments(part, cross=True)
        found, expected = (kernel_products(m, part, projection) for m in (rest, direct))
        assert_allclose(found, expected, rtol=1e-8)


def test_mixtures_follow_from_one_sweep(problem):
    X, y, _ = problem
    goal = make_target(y)
    kernels = [gs.Gaussian(0.5), gs.Linear(), gs.Polynomial(2)]
    moments = gs.Gram(kernels, X).moments(goal, cross=True)
    mixed = moments.mix([0.2, 0.5, 0.3])
    direct = gs.Gram(0.2 * kernels[0] + 0.5 * kernels[1] + 0.3 * kernels[2], X).moments(goal)
    for measure in MEASURES.values():
        assert measure.value(mixed, goal) == pytest.approx(measure.value(direct, goal), rel=1e-10)
    with pytest.raises(ValueError, match="cross=True"):
        gs.Gram(kernels, X).moments(goal, cross=False).mix([1, 0, 0])


def test_several_targets_share_one_sweep(problem, rng):
    X, y, _ = problem
    goals = [make_target(y), make_target(rng.permutation(y))]
    together = gs.Gram(gs.Gaussian(), X).moments(goals)
    for i, goal in enumerate(goals):
        alone = gs.Gram(gs.Gaussian(), X).moments(goal)
        part = together.columns(slice(2 * i, 2 * i + 2))
        assert MEASURES["cka"].value(part, goal) == pytest.approx(
            MEASURES["cka"].value(alone, goal)
        )


def test_dual_numbers(problem):
    X, y, _ = problem
    moments = gs.Gram(gs.Gaussian(), X).moments(make_target(y))
    unit = Adjoint.zeros(moments)
    x = Scalar(3.0, Adjoint(unit.A + 1.0, unit.delta, unit.nu))
    z = Scalar(2.0, Adjoint(unit.A, unit.delta + 1.0, unit.nu))

    def parts(s):
        return s.value, s.adjoint.A.flat[0], s.adjoint.delta.flat[0]

    assert parts(x + z) == (5.0, 1.0, 1.0)
    assert parts(x - z) == (1.0, 1.0, -1.0)
    assert parts(x * z) == (6.0, 2.0, 3.0)
    assert parts(x / z) == (1.5, 0.5, -0.75)
    assert parts(x.sqrt()) == pytest.approx((np.sqrt(3), 0.5 / np.sqrt(3), 0.0))
    assert (Scalar(4.0) / 2.0 + 1.0).value == 3.0
    assert parts(np.float64(2.0) * x) == (6.0, 2.0, 0.0)
    assert (1.0 / Scalar(0.0)).value == np.inf


def test_some_of_the_kernels_in_any_order(problem):
    X, y, _ = problem
    kernels = [gs.Gaussian(0.5), gs.Linear(), gs.Polynomial(2)]
    moments = gs.Gram(kernels, X).moments(make_target(y), cross=True)
    for chosen in [(0,), (1, 2), (2, 0), (2, 1, 0), (0, 0)]:
        part = moments.of(*chosen)
        for name in ("P", "d", "h", "c"):
            assert_allclose(getattr(part, name), getattr(moments, name)[list(chosen)])
        assert_allclose(part.q, moments.q[np.ix_(chosen, chosen)])
    assert np.shares_memory(moments.of(1, 2).P, moments.P)  # neighbours are not copied


def test_a_mixture_is_as_exact_as_the_kernels_in_it(problem):
    X, y, _ = problem
    moments = gs.Gram([gs.Linear(), gs.Gaussian()], X).moments(make_target(y), cross=True)
    moments = replace(moments, centred=np.array([True, False]))
    for weights, centred in [((1, 0), True), ((0, 1), False), ((1, 1), False)]:
        assert moments.mix(weights).centred.tolist() == [centred]
    assert replace(moments, centred=None).mix((1, 1)).centred is None

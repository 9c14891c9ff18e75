"""A measure is its formula: arithmetic on the numbers of `Sums`, with the derivative for free."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.measures import MEASURES, Measure, Scalar, Undefined
from gramsmith.moments import Adjoint
from gramsmith.targets import make_target
from tools.registry import dense_adjoint


def x(sums):
    return sums.centred_square()


def y(sums):
    return sums.functional(sums.target.M_centred)


FORMULAS = {
    "1 - x": lambda s: 1 - x(s),
    "x - 1": lambda s: x(s) - 1,
    "-x": lambda s: -x(s),
    "1 / x": lambda s: 1 / x(s),
    "x / 3": lambda s: x(s) / 3,
    "x ** 2": lambda s: x(s) ** 2,
    "x ** -0.5": lambda s: x(s) ** -0.5,
    "x / y": lambda s: x(s) / y(s),
    "x - y": lambda s: x(s) - y(s),
    "x * y": lambda s: x(s) * y(s),
    "numpy": lambda s: np.float64(2.0) - np.sqrt(2.0) * y(s) / x(s).sqrt(),
    "rows": lambda s: s.row_square(),
    "sum": lambda s: s.total(),
    "of the kernel": lambda s: s.plain_square(),
    "inner": lambda s: s.plain_inner(s.target.M),
    "chain": lambda s: 1 - (2 - y(s) / x(s)) ** 2 / (1 + x(s)).sqrt(),
}


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(20, 3))
    goal = make_target(X[:, 0] > 0, sample_weight=1.0 + np.arange(20) % 3)
    return gs.Gaussian(1.5)(X), goal


def moments_of(K, goal):
    return gs.Gram("precomputed", K).moments(goal)


@pytest.mark.parametrize("formula", FORMULAS)
def test_arithmetic_against_differences(formula, problem, rng):
    K, goal = problem
    measure = Measure(formula, FORMULAS[formula])
    moments = moments_of(K, goal)
    value, adjoint = measure.value_and_adjoint(moments, goal)
    assert value == measure.value(moments, goal)
    D = rng.normal(size=K.shape)
    D = D + D.T
    up, down = (measure.value(moments_of(K + s * D, goal), goal) for s in (1e-6, -1e-6))
    slope = np.sum(dense_adjoint(adjoint, moments, goal, K) * D)
    assert slope != 0.0
    assert slope == pytest.approx((up - down) / 2e-6, rel=1e-6)


def test_arithmetic_is_that_of_the_values(problem):
    K, goal = problem
    moments = moments_of(K, goal)
    a, b = (Measure("part", part).value(moments, goal) for part in (x, y))
    expected = {"1 - x": 1 - a, "-x": -a, "1 / x": 1 / a, "x ** 2": a**2, "x / y": a / b}
    for formula, value in expected.items():
        assert Measure("m", FORMULAS[formula]).value(moments, goal) == pytest.approx(value)


def test_a_formula_returns_a_number_of_sums(problem):
    K, goal = problem
    moments = moments_of(K, goal)
    with pytest.raises(TypeError, match=r"formula of mine .* got float\. Use Scalar"):
        Measure("mine", lambda sums: 1.0).value(moments, goal)
    value, adjoint = Measure("mine", lambda sums: Scalar(1.0)).value_and_adjoint(moments, goal)
    assert value == 1.0
    assert not adjoint.A.any()


def test_the_root_of_nothing_has_no_slope(problem):
    _, goal = problem
    K = np.zeros((20, 20))
    moments = moments_of(K, goal)
    value, adjoint = Measure("m", lambda s: x(s).sqrt()).value_and_adjoint(moments, goal)
    assert value == 0.0
    assert not dense_adjoint(adjoint, moments, goal, K).any()


@pytest.mark.parametrize("name", MEASURES)
def test_the_fewest_samples_of_a_measure(name):
    measure = MEASURES[name]
    values = "values" in measure.kinds
    least = {"cka_debiased": 4, "hsic_unbiased": 4}.get(name, 2)
    assert measure.minimum == least
    for n in (least - 1, least):
        y = np.arange(n) * 1.5 if values else np.arange(n) % 2
        if n < least:
            goal = make_target(np.r_[y, 7.5] if values else [0, 1, 0, 1]).take(np.arange(n))
            with pytest.raises(Undefined, match=f"at least {least} samples for {name}, got {n}"):
                measure.check(goal)
        else:
            measure.check(make_target(y, task="regression" if values else "auto"))


def test_records_are_not_changed_by_accident(problem):
    K, goal = problem
    moments = moments_of(K, goal)
    for record in (goal, moments, MEASURES["cka"], Scalar(1.0), Adjoint.zeros(moments)):
        with pytest.raises(FrozenInstanceError):
            setattr(record, next(iter(vars(record))), None)

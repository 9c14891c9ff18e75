"""Alignments where the target does not vary: no value instead of noise over noise."""

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.measures import MEASURES, Undefined
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.targets import make_target
from oracle import textbook as tb

SIZES = range(5, 60)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scheme", ["auto", "one_hot", "balanced", "imbalanced"])
def test_debiased_alignment_of_a_class_of_one_is_undefined(scheme, weighted, rng):
    for n in SIZES:  # whether rounding is zero depends on n
        w = np.r_[1.0, rng.uniform(0.8, 2.0, size=n - 1)] if weighted else None
        goal = make_target(np.arange(n) == 0, scheme, sample_weight=w)
        moments = gs.Gram(gs.Gaussian(), rng.normal(size=(n, 2))).moments(goal)
        with pytest.raises(Undefined, match="debiased norm is 0"):
            MEASURES["cka_debiased"].value(moments, goal)


@pytest.mark.parametrize("scheme", ["auto", "one_hot", "balanced", "imbalanced"])
def test_debiased_alignment_of_a_rare_class_keeps_its_digits(scheme, rng):
    X = rng.normal(size=(200, 2))
    y = np.arange(200) < 2
    goal = make_target(y, scheme)
    K = gs.Gaussian()(X)
    value = MEASURES["cka_debiased"].value(gs.Gram("precomputed", K).moments(goal), goal)
    T = goal.V @ goal.M @ goal.V.T
    assert value == pytest.approx(tb.cka_debiased(K, T), rel=1e-9)


def test_centred_alignment_with_one_class_left_is_undefined(rng):
    for n in SIZES:
        w = rng.uniform(0.1, 3.0, size=n + 1)
        goal = make_target(np.arange(n + 1) == n, sample_weight=w).take(np.arange(n))
        moments = gs.Gram(gs.Gaussian(), rng.normal(size=(n, 2))).moments(goal)
        with pytest.raises(Undefined):
            MEASURES["cka"].value(moments, goal)


@pytest.mark.parametrize("name", ["kta", "cka", "cka_debiased"])
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_values_does_not_matter(name, unit, rng):
    X = rng.normal(size=(30, 2))
    values = X[:, 0] + rng.normal(size=30)
    gram = gs.Gram(gs.Gaussian(), X)
    goal, other = make_target(values), make_target(unit * values)
    expected = MEASURES[name].value(gram.moments(goal), goal)
    assert MEASURES[name].value(gram.moments(other), other) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["cka", "cka_debiased"])
def test_what_is_left_of_a_constant_is_rounding(name, rng):
    """Values that differ in their last bit tell nothing, whatever the pivot leaves of them."""
    noise = np.triu(rng.integers(0, 2, size=(30, 30)))
    K = 1.0 + np.finfo(float).eps * (noise + np.triu(noise, 1).T)
    goal = make_target(rng.integers(0, 2, size=30))
    moments = gs.Gram("precomputed", K).moments(goal)
    with pytest.warns(ConstantKernelWarning):
        assert MEASURES[name].value(moments, goal) == 0.0
    wide = 1.0 + 1e-9 * (noise + np.triu(noise, 1).T)  # which is no rounding
    assert MEASURES[name].value(gs.Gram("precomputed", wide).moments(goal), goal) != 0.0


@pytest.mark.parametrize("centered", [False, True])
def test_alignment_of_two_kernels_of_any_size(centered, rng):
    X = rng.normal(size=(30, 2))
    K, L = gs.Gaussian(1.0)(X), gs.Gaussian(3.0)(X)
    expected = gs.alignment(K, L, centered=centered)
    for unit in (1e-9, 1e9):
        for pair in ((unit * K, L), (K, unit * L)):
            found = gs.alignment(*pair, centered=centered)
            assert found == pytest.approx(expected, rel=1e-9)

"""Alignments where the target does not vary: no value instead of noise over noise."""

import numpy as np
import pytest

import gramsmith as gs
import textbook as tb
from gramsmith.measures import MEASURES, Undefined
from gramsmith.targets import make_target


@pytest.mark.parametrize("n", [7, 30, 101])
@pytest.mark.parametrize("weighted", [False, True])
def test_debiased_alignment_of_a_class_of_one_is_undefined(n, weighted, rng):
    X = rng.normal(size=(n, 2))
    y = np.arange(n) == 0
    w = np.r_[1.0, 1.0 + np.arange(n - 1) % 3] if weighted else None
    with pytest.raises(Undefined, match="debiased norm is 0"):
        gs.cka(gs.Gaussian()(X), y, debiased=True, sample_weight=w)


@pytest.mark.parametrize("scheme", ["auto", "one_hot", "balanced", "uneven"])
def test_debiased_alignment_of_a_rare_class_keeps_its_digits(scheme, rng):
    X = rng.normal(size=(200, 2))
    y = np.arange(200) < 2
    goal = make_target(y, scheme)
    K = gs.Gaussian()(X)
    value = MEASURES["cka_debiased"].value(gs.Gram("precomputed", K).moments(goal), goal)
    T = goal.V @ goal.M @ goal.V.T
    assert value == pytest.approx(tb.cka_debiased(K, T), rel=1e-9)


def test_centred_alignment_with_one_class_left_is_undefined(rng):
    X = rng.normal(size=(9, 2))
    w = rng.uniform(0.1, 3.0, size=9)
    goal = make_target(np.arange(9) == 8, sample_weight=w).take(np.arange(8))
    moments = gs.Gram(gs.Gaussian(), X[:8]).moments(goal)
    with pytest.raises(Undefined, match="target that varies"):
        MEASURES["cka"].value(moments, goal)

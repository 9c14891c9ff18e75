"""Dependence: polarity, HSIC and MMD, which are not divided by norms."""

from __future__ import annotations

import numpy as np

from gramsmith.measures.alignment import unbiased_inner
from gramsmith.measures.base import Measure, Sums
from gramsmith.measures.separability import distance_contrast, need_members, pair_weights
from gramsmith.moments import Scalar


def polarity_formula(sums: Sums) -> Scalar:
    """<K, T>."""
    return sums.plain_inner(sums.target.M)


def hsic_formula(sums: Sums) -> Scalar:
    """<HKH, T> / (n - 1)²."""
    t = sums.target
    return sums.functional(t.M_centred) * (1.0 / (t.n - 1.0) ** 2)


def hsic_unbiased_formula(sums: Sums) -> Scalar:
    """<UK, UT> / n(n - 3)."""
    n = sums.target.n
    return unbiased_inner(sums) * (1.0 / (n * (n - 3.0)))


def mmd_formula(sums: Sums) -> Scalar:
    """|φ_a - φ_b|² of the class means, averaged over pairs of classes."""
    t = sums.target
    need_members(t, 1, "a comparison of classes")
    return sums.functional(distance_contrast(t, pair_weights(t)))


def mmd_unbiased_formula(sums: Sums) -> Scalar:
    """Q_aa, Q_bb without the diagonal over n(n - 1), minus twice the mean between classes.

    With weights, as |φ_a - φ_b|² less what the variances within classes add to it on average,
    (Σ w² / m²) tr Cov_c: that does not change with the origin, which a mean over i≠j would.
    """
    t = sums.target
    need_members(t, 2, "the unbiased MMD")
    W = pair_weights(t)
    squares = (t.w * t.row_weights) @ t.V
    within = W.sum(axis=1) / (t.m * t.m - squares)
    # On B instead of K: the diagonal of the pivot, c + 2h_i, is subtracted where it was added.
    contrast = np.diag(within) - W / np.outer(t.m, t.m)
    return sums.functional(contrast, delta=-(t.wV @ (within * (squares / t.m))))


POLARITY = Measure(
    "polarity",
    polarity_formula,
    scale_invariant=False,
    translation_invariant=False,
    nonnegative=True,
)
HSIC = Measure("hsic", hsic_formula, scale_invariant=False, nonnegative=True)
HSIC_UNBIASED = Measure("hsic_unbiased", hsic_unbiased_formula, scale_invariant=False, minimum=4)
MMD = Measure("mmd", mmd_formula, kinds=("classes",), scale_invariant=False, nonnegative=True)
MMD_UNBIASED = Measure(
    "mmd_unbiased", mmd_unbiased_formula, kinds=("classes",), scale_invariant=False
)

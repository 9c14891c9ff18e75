"""Alignments: the cosine between a kernel matrix and a target, or another kernel matrix.

For a projection P of matrices (none, centring, U-centring), A = <PK, PT> / (|PK| |PT|).
"""

from __future__ import annotations

import warnings

import numpy as np

from gramsmith.measures.base import Array, Measure, Sums, Undefined
from gramsmith.moments import Moments, Scalar
from gramsmith.targets import Target

ROUNDING = 1e-12  # below this share of its norm a projected target is rounding noise
FLAT = 1e-14  # below this share of |B|² what is left after centring is rounding noise


class ConstantKernelWarning(UserWarning):
    """The kernel is numerically constant: its centred alignment is reported as 0."""


def _constant() -> Scalar:
    warnings.warn(
        "Expected a kernel that varies, got one that is numerically constant; its centred "
        "alignment is 0. Use one that varies more, for example with a smaller length scale.",
        ConstantKernelWarning,
        stacklevel=4,
    )
    return Scalar(0.0)


def _flat(sums: Sums) -> float:
    """Return the square of a norm of centred values below which they are rounding.

    Of the sums over B, the kernel less its pivot, and of the values of the kernel itself.
    """
    values = 8.0 * float(np.finfo(float).eps) * sums.scale
    return max(FLAT * float(sums.moments.squares[0, 0]), values**2)


def _target_norm(target: Target, contrast: Array) -> float:
    norm = target.norm(contrast)
    if norm <= ROUNDING * target.norm(target.M):
        raise Undefined(
            "Expected a target that varies, got one class or constant values. Add samples."
        )
    return norm


def kta_formula(sums: Sums) -> Scalar:
    """<K, T> / (|K| |T|)."""
    t = sums.target
    q = sums.plain_square()
    if q.value <= 0:
        return Scalar(0.0)
    return sums.plain_inner(t.M) / q.sqrt() / _target_norm(t, t.M)


def cka_formula(sums: Sums) -> Scalar:
    """<HKH, HTH> / (|HKH| |HTH|)."""
    t = sums.target
    q = sums.centred_square()
    if q.value <= _flat(sums):
        return _constant()
    return sums.functional(t.M_centred) / q.sqrt() / _target_norm(t, t.M_centred)


def cka_debiased_formula(sums: Sums) -> Scalar:
    """<UK, UT> / (|UK| |UT|) with U-centring; 0 where the denominator is not positive."""
    square = unbiased_square(sums)
    target = unbiased_target_square(sums.target)
    if square.value <= _flat(sums):
        return _constant()
    if target <= ROUNDING * sums.target.norm(sums.target.M_centred) ** 2:
        raise Undefined(
            "Expected a target that varies off the diagonal, got one whose debiased norm is 0, as "
            "with two classes of which one has a single member. Add samples."
        )
    return unbiased_inner(sums) / square.sqrt() / float(np.sqrt(target))


def unbiased_inner(sums: Sums) -> Scalar:
    """<UK, UT>, that is n(n-3) times the unbiased HSIC.

    From the centred target: U does not see the difference, its row sums are 0, and those without
    the diagonal the negative diagonal.
    """
    t = sums.target
    diag = t.centred_diagonal
    side = -additive_part(-t.row_weights * diag, t)
    # Σ_{i≠j} K T = <K, T> - Σ w_i² d_i T_ii, and the hollow row sums of K are r - w d
    return sums.functional(t.M_centred, side=side, delta=-t.w * t.row_weights * (diag + side))


def unbiased_square(sums: Sums) -> Scalar:
    """<UK, UK>."""
    t, w = sums.target, sums.target.w
    w2 = w * t.row_weights
    R = sums.r - t.row_weights * sums.d
    both = additive_part(R, t)
    slope = -2.0 * w * both
    value = sums.moments.squares[0, 0] - w2 @ sums.d**2 - w @ (both * R)
    delta = -slope * t.row_weights - 2.0 * w2 * sums.d
    return sums.scalar(value, np.outer(slope, t.e), delta, nu=1.0)


def unbiased_target_square(t: Target) -> float:
    """<UT, UT>, from the centred target as above."""
    diag, w2 = t.centred_diagonal, t.w * t.row_weights
    both = additive_part(-t.row_weights * diag, t)
    return t.norm(t.M_centred) ** 2 + float(w2 @ (diag * (both - diag)))


def additive_part(R: Array, target: Target) -> Array:
    """Return 2a of the matrix a_i + a_j that U-centring takes off, shape of R.

    U-centring is the projection that minimises Σ_{i≠j} w_i w_j (K_ij - a_i - a_j)², hence with the
    row sums R_i = Σ_{j≠i} w_j K_ij and the sum of weights n, (n - 2w_i) a_i + A = R_i where
    A = Σ w_j a_j.
    """
    w, n, own = target.w, target.n, target.row_weights
    if not target.weighted:
        level = np.asarray(R @ w)[..., None] / ((n - 1.0) * (n - 2.0))
        return np.asarray(2.0 / (n - 2.0) * R - level)
    # n - 2w may vanish for the heaviest row alone, whose equation is kept until the end
    k = int(np.argmax(own))
    inverse = 1.0 / np.delete(n - 2.0 * own, k)
    rest = np.delete(w, k) * inverse
    known, last = np.delete(R, k, axis=-1) @ rest, R[..., k]
    room, heaviest = 1.0 + rest.sum(), n - 2.0 * own[k]
    determinant = room * heaviest + w[k]
    A = (known * heaviest + w[k] * last) / determinant
    a = np.empty_like(R)
    a[..., np.arange(len(w)) != k] = (np.delete(R, k, axis=-1) - A[..., None]) * inverse
    a[..., k] = (room * last - known) / determinant
    return np.asarray(2.0 * a)


def pair_alignment(moments: Moments, target: Target, projection: str = "plain") -> float:
    """Return the alignment of two kernels from their joint moments."""
    G = kernel_products(moments, target, projection)
    flat = [_flat(Sums(moments.of(k), target)) for k in (0, 1)]
    if projection != "plain" and min(G[k, k] - flat[k] for k in (0, 1)) <= 0:
        return _constant().value
    if G[0, 0] <= 0 or G[1, 1] <= 0:
        return 0.0
    return float(G[0, 1] / np.sqrt(G[0, 0] * G[1, 1]))


def kernel_products(moments: Moments, target: Target, projection: str = "plain") -> Array:
    """Return <P K_k, P K_l> for all pairs of kernels, shape (m, m)."""
    w, n = target.w, target.n
    G = moments.squares.copy()
    R = moments.PV @ target.e  # (m, n) row sums
    if projection == "plain":
        h, c = moments.h, moments.c
        # <B_k, 1h_l' + h_l1' + c_l 11'> and the products of the pivots themselves
        cross = 2.0 * (R * w) @ h.T + np.outer(R @ w, c)
        sh = h @ w
        hh = 2.0 * n * (h * w) @ h.T + 2.0 * np.outer(sh, sh)
        cs = 2.0 * n * np.outer(c, sh)
        return np.asarray(G + cross + cross.T + hh + cs + cs.T + n * n * np.outer(c, c))
    if projection == "centred":
        s = R @ w
        return np.asarray(G - 2.0 / n * (R * w) @ R.T + np.outer(s, s) / n**2)
    if n < 4:
        raise Undefined(
            f"Expected at least 4 samples for debiased alignment, got {n:g}. Add samples."
        )
    R = R - target.row_weights * moments.d
    G = G - (moments.d * w * target.row_weights) @ moments.d.T
    return np.asarray(G - (additive_part(R, target) * w) @ R.T)


def target_products(moments: Moments, target: Target, projection: str = "plain") -> Array:
    """Return <P K_k, P T> for all kernels, shape (m,)."""
    formula = {
        "plain": lambda s: s.plain_inner(s.target.M),
        "centred": lambda s: s.functional(s.target.M_centred),
        "debiased": unbiased_inner,
    }[projection]
    return np.array([formula(Sums(moments.of(k), target)).value for k in range(len(moments))])


def target_norm(target: Target, projection: str = "plain") -> float:
    """Return |P T|."""
    if projection == "debiased":
        return float(np.sqrt(max(unbiased_target_square(target), 0.0)))
    return target.norm(target.M if projection == "plain" else target.M_centred)


KTA = Measure("kta", kta_formula, translation_invariant=False, bounded=True, nonnegative=True)
CKA = Measure("cka", cka_formula, bounded=True, nonnegative=True)
CKA_DEBIASED = Measure("cka_debiased", cka_debiased_formula, minimum=4, bounded=True)

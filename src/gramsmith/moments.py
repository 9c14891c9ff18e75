"""Moments: what one sweep over the Gram matrices leaves behind; and Adjoint, their dual.

For kernels K_k on the same samples, with probe V and weights w, a sweep adds up

    P_k = K_k w V  (n x t)      d_k = diag K_k  (n)      q_kl = Σ_ij w_i w_j K_k,ij K_l,ij

where K is not the kernel matrix itself but K minus 1h' + h1' + c11' (a pivot, near its mean):
centred measures do not see the difference and keep their digits, the others add it back exactly.
Columns of P and entries of q are kept per fold, so that a fold can be taken out afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.targets import Target

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Moments:
    """The sums of one sweep for m kernels, n samples, t probe columns and F folds.

    Parameters
    ----------
    P : array of shape (m, F, n, t)
    d : array of shape (m, n)
    q : array of shape (m, m, F, F)
        Off-diagonal kernel pairs are zero unless `cross`.
    h : array of shape (m, n)
    c : array of shape (m,)
        The pivot.
    fold : array of shape (n,), the fold of every sample, in non-decreasing order
    cross : bool
    centred : array of shape (m,), optional
        Of which kernels centred features were summed: the rounding in their sums is that of K minus
        the pivot, in those of the others that of K.
    """

    P: Array
    d: Array
    q: Array
    h: Array
    c: Array
    fold: Array
    cross: bool = False
    centred: Array | None = None

    def __len__(self) -> int:
        """Return the number of kernels."""
        return len(self.P)

    def of(self, *kernels: int) -> Moments:
        """Return the moments of some of the kernels."""
        run = kernels == tuple(range(kernels[0], kernels[0] + len(kernels)))
        k = slice(kernels[0], kernels[0] + len(kernels)) if run else np.asarray(kernels)
        pairs = self.q[k][:, k]
        centred = None if self.centred is None else self.centred[k]
        return replace(
            self, P=self.P[k], d=self.d[k], q=pairs, h=self.h[k], c=self.c[k], centred=centred
        )

    def columns(self, chosen: slice) -> Moments:
        """Return the moments of some of the probe columns."""
        return replace(self, P=self.P[..., chosen])

    def without(self, fold: int) -> tuple[Moments, Array]:
        """Return the moments of the samples outside one fold, and the indices of these samples."""
        start, stop = np.searchsorted(self.fold, [fold, fold + 1])
        out = slice(start, stop)
        keep = np.arange(self.P.shape[1]) != fold
        rest = np.delete(self.PV - self.P[:, fold], out, axis=1)
        return (
            replace(
                self,
                P=rest[:, None],
                d=np.delete(self.d, out, axis=1),
                q=self.q[:, :, keep][:, :, :, keep].sum(axis=(2, 3), keepdims=True),
                h=np.delete(self.h, out, axis=1),
                fold=np.zeros(rest.shape[1], dtype=int),
            ),
            np.delete(np.arange(len(self.fold)), out),
        )

    def reweighted(self, factor: float) -> Moments:
        """Return the moments for all weights times a number."""
        return replace(self, P=self.P * factor, q=self.q * factor**2)

    def mix(self, weights: Array) -> Moments:
        """Return the moments of Σ_k weights_k K_k (needs `cross`)."""
        if not self.cross:
            raise ValueError(
                "Expected moments with inner products of kernels; sweep with cross=True."
            )
        u = np.asarray(weights, dtype=np.float64)
        return replace(
            self,
            P=np.tensordot(u, self.P, 1)[None],
            d=(u @ self.d)[None],
            q=np.einsum("k,l,klfg->fg", u, u, self.q)[None, None],
            h=(u @ self.h)[None],
            c=np.array([u @ self.c]),
            centred=None if self.centred is None else np.array([self.centred[u != 0].all()]),
        )

    @cached_property
    def PV(self) -> Array:
        """P summed over folds, shape (m, n, t)."""
        return np.asarray(self.P[:, 0] if self.P.shape[1] == 1 else self.P.sum(axis=1))

    @cached_property
    def diagonals(self) -> Array:
        """The diagonals of the kernels themselves, shape (m, n)."""
        return np.asarray(self.d + self.c[:, None] + 2.0 * self.h)

    @cached_property
    def squares(self) -> Array:
        """Summed q, shape (m, m)."""
        return np.asarray(self.q.sum(axis=(2, 3)))


@dataclass(frozen=True)
class Adjoint:
    """The derivative of a number f with respect to the Gram matrices, without n x n.

    dK_k = A_k (wV)' + diag(delta_k) + Σ_l 2 nu_kl (w w') * K_l, the first term symmetrised.

    Parameters
    ----------
    A : array of shape (m, n, t), df/dP
    delta : array of shape (m, n), df/dd
    nu : array of shape (m, m), df/dq
    """

    A: Array
    delta: Array
    nu: Array

    def __add__(self, other: Adjoint) -> Adjoint:
        """Return the derivative of a sum."""
        return Adjoint(self.A + other.A, self.delta + other.delta, self.nu + other.nu)

    def __mul__(self, factor: float) -> Adjoint:
        """Return the derivative of a multiple."""
        return Adjoint(self.A * factor, self.delta * factor, self.nu * factor)

    __rmul__ = __mul__

    @classmethod
    def zeros(cls, moments: Moments) -> Adjoint:
        """Return the derivative of a constant."""
        m, _, n, t = moments.P.shape
        return cls(np.zeros((m, n, t)), np.zeros((m, n)), np.zeros((m, m)))

    def unpivoted(self, moments: Moments, target: Target) -> Adjoint:
        """Return the same derivative with nu multiplying the kernels instead of K minus pivot.

        2 nu (K - 1h' - h1' - c11') differs from 2 nu K by the low-rank -2 nu (2h + c1) 1', whose
        symmetric part joins A, because V e = 1.
        """
        low = 2.0 * moments.h + moments.c[:, None]
        side = -2.0 * (self.nu @ low) * target.w
        return Adjoint(self.A + side[:, :, None] * target.e, self.delta, self.nu)


@dataclass(frozen=True)
class Scalar:
    """A number with its derivative: a dual number whose infinitesimal part is an Adjoint.

    Sums, products, quotients, powers and roots, also with plain numbers, follow the rules of
    calculus, so that a measure is written as its formula and has its adjoint. Without derivative
    (`adjoint` None) there are only values. What has no value, such as 1 / 0, is infinite or nan.

    Parameters
    ----------
    value : float
    adjoint : Adjoint, optional
        Its derivative.

    Examples
    --------
    >>> from gramsmith.measures import Scalar
    >>> (1 - Scalar(0.25).sqrt()).value
    0.5
    """

    value: float
    adjoint: Adjoint | None = None
    __array_ufunc__ = None  # numbers of NumPy leave the operators below to this class

    def _chain(self, value: float, *terms: tuple[Scalar, float]) -> Scalar:
        """Return a number whose derivative is the sum of those of `terms`, each with its factor.

        Where a factor is not finite, as at the root of 0, there is no derivative to pass on.
        """
        total: Adjoint | None = None
        for term, factor in terms:
            if term.adjoint is not None:
                part = term.adjoint * (factor if np.isfinite(factor) else 0.0)
                total = part if total is None else total + part
        return Scalar(float(value), total)

    def __add__(self, other: Scalar | float) -> Scalar:
        """Return the sum."""
        if not isinstance(other, Scalar):
            return Scalar(self.value + other, self.adjoint)
        return self._chain(self.value + other.value, (self, 1.0), (other, 1.0))

    __radd__ = __add__

    def __sub__(self, other: Scalar | float) -> Scalar:
        """Return the difference."""
        return self + (-1.0) * other

    def __neg__(self) -> Scalar:
        """Return the number with the opposite sign."""
        return self * -1.0

    def __rsub__(self, other: float) -> Scalar:
        """Return a plain number minus this one."""
        return -self + other

    def __mul__(self, other: Scalar | float) -> Scalar:
        """Return the product."""
        if not isinstance(other, Scalar):
            return self._chain(self.value * other, (self, other))
        value = self.value * other.value
        return self._chain(value, (self, other.value), (other, self.value))

    __rmul__ = __mul__

    @np.errstate(all="ignore")
    def __truediv__(self, other: Scalar | float) -> Scalar:
        """Return the quotient."""
        if not isinstance(other, Scalar):
            return self * (1.0 / np.float64(other))
        below = np.float64(other.value)
        value = self.value / below
        return self._chain(value, (self, 1.0 / below), (other, -value / below))

    @np.errstate(all="ignore")
    def __rtruediv__(self, other: float) -> Scalar:
        """Return a plain number over this one."""
        value = other / np.float64(self.value)
        return self._chain(value, (self, -value / self.value))

    @np.errstate(all="ignore")
    def __pow__(self, power: float) -> Scalar:
        """Return a power, whose exponent is a plain number."""
        base = np.float64(self.value)
        return self._chain(base**power, (self, power * base ** (power - 1.0)))

    @np.errstate(all="ignore")
    def sqrt(self) -> Scalar:
        """Return the square root."""
        root = np.sqrt(self.value)
        return self._chain(root, (self, 0.5 / root))

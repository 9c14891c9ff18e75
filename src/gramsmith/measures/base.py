"""Measure: one number about a Gram matrix, from Moments and Target alone.

A measure is written once, as a formula of `Scalar` primitives (`Sums`); its adjoint follows by the
chain rule. Measures never see a tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.cached import cached_property
from gramsmith.moments import Adjoint, Moments, Scalar
from gramsmith.targets import Target

Array = npt.NDArray[Any]


class Undefined(ValueError):
    """Raised where a measure has no value for a target, such as FSM with a class of one member."""


@dataclass(frozen=True)
class Sums:
    """The sums of one kernel, as dual numbers.

    `B` below is the kernel matrix minus its pivot; formulas that do not change when 1h' + h1' + c
    is added to the kernel use it directly, the others add the pivot back.

    Parameters
    ----------
    moments : Moments of one kernel
    target : Target
    derivative : bool, default=False
        Whether adjoints are wanted.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> from gramsmith.targets import make_target
    >>> target = make_target(["a", "a", "b", "b"])
    >>> sums = Sums(gs.Gram("precomputed", np.eye(4)).moments(target), target)
    >>> round(sums.centred_square().value, 12)
    3.0
    """

    moments: Moments
    target: Target
    derivative: bool = False

    @cached_property
    def P(self) -> Array:
        """B w V, shape (n, t)."""
        return np.asarray(self.moments.PV[0])

    @property
    def d(self) -> Array:
        """The diagonal of B."""
        return np.asarray(self.moments.d[0])

    @cached_property
    def r(self) -> Array:
        """Row sums B w."""
        return np.asarray(self.P @ self.target.e)

    @cached_property
    def Q(self) -> Array:
        """V'w B w V, the block sums."""
        return np.asarray(self.target.wV.T @ self.P)

    def scalar(
        self, value: float, A: Array | None = None, delta: Array | None = None, nu: float = 0.0
    ) -> Scalar:
        """Return a number with the derivatives A by P, delta by d and nu by q."""
        if not self.derivative:
            return Scalar(float(value))
        n, t = self.P.shape
        A = np.zeros((n, t)) if A is None else A
        delta = np.zeros(n) if delta is None else delta
        return Scalar(float(value), Adjoint(A[None], delta[None], np.array([[nu]])))

    def functional(
        self, contrast: Array, side: Array | float = 0.0, delta: Array | None = None
    ) -> Scalar:
        """Return <B, V contrast V'> + Σ_i w_i side_i r_i + Σ_i delta_i d_i, linear in B."""
        w, e = self.target.w, self.target.e
        value = float(np.vdot(contrast, self.Q)) + float(w @ (side * self.r))
        if delta is not None:
            value += float(delta @ self.d)
        A = self.target.wV @ contrast + np.outer(w * side, e) if self.derivative else None
        return self.scalar(value, A, delta)

    def square(self) -> Scalar:
        """Return Σ w_i w_j B_ij²."""
        return self.scalar(float(self.moments.squares[0, 0]), nu=1.0)

    def row_square(self) -> Scalar:
        """Return Σ w_i r_i²."""
        w = self.target.w
        A = np.outer(2.0 * w * self.r, self.target.e) if self.derivative else None
        return self.scalar(float(w @ self.r**2), A)

    def total(self) -> Scalar:
        """Return Σ w_i r_i."""
        w = self.target.w
        A = np.outer(w, self.target.e) if self.derivative else None
        return self.scalar(float(w @ self.r), A)

    def plain_inner(self, contrast: Array) -> Scalar:
        """Return <K, V contrast V'> of the kernel matrix itself."""
        h, c, t = self.moments.h[0], float(self.moments.c[0]), self.target
        hV = t.wV.T @ h
        pivot = 2.0 * float(hV @ contrast @ t.m) + c * float(t.m @ contrast @ t.m)
        return self.functional(contrast) + pivot

    def plain_square(self) -> Scalar:
        """Return |K|², of the kernel matrix itself."""
        h, c, w, n = self.moments.h[0], float(self.moments.c[0]), self.target.w, self.target.n
        linear = self.functional(np.zeros_like(self.Q), side=4.0 * h + 2.0 * c)
        sh, hh = float(w @ h), float(w @ h**2)
        return (
            self.square() + linear + (2.0 * n * hh + 2.0 * sh**2 + 4.0 * c * n * sh + c * c * n * n)
        )

    def centred_square(self) -> Scalar:
        """Return |HKH|² = q - 2|r|²/n + s²/n²."""
        n = self.target.n
        s = self.total()
        return self.square() - self.row_square() * (2.0 / n) + s * s * (1.0 / n**2)

    @cached_property
    def scale(self) -> float:
        """|K|, the yardstick of numerical zero; |B| where the sums are of centred features.

        Of these the samples themselves are rounded, by eps times their size.
        """
        plain = Sums(self.moments, self.target) if self.derivative else self
        norm = float(np.sqrt(max(plain.plain_square().value, 0.0)))
        if self.moments.centred is None or not self.moments.centred[0]:
            return norm
        within = float(np.sqrt(max(self.moments.squares[0, 0], 0.0)))
        return max(within, float(np.finfo(float).eps) * norm)


@dataclass(frozen=True)
class Measure:
    """A named measure; an object of it is taken wherever the name of one is.

    Parameters
    ----------
    name : str
    formula : callable
        Sums -> Scalar, as arithmetic on what the methods of `Sums` return.
    higher_is_better : bool, default=True
    kinds : tuple of str
        Kinds of target for which it is defined.
    scale_invariant, translation_invariant : bool
        Whether a multiple of the kernel, or a shift of the feature space, changes nothing.
    minimum : int, default=2
        Fewest samples.
    bounded : bool, default=False
        Whether it is at most 1, and small where the kernel is useless.
    favours_identity : bool, default=False
        Whether the identity matrix, a kernel that tells nothing, has the best value there is.
    nonnegative : bool, default=False
        Whether it is never negative for a positive semidefinite kernel.

    Examples
    --------
    The squared distance of HKH and HTH, both of length 1:

    >>> import numpy as np
    >>> import gramsmith as gs
    >>> def squared_distance(sums):
    ...     T = sums.target
    ...     inner = sums.functional(T.M_centred)
    ...     return 2 - 2 * inner / (sums.centred_square().sqrt() * T.norm(T.M_centred))
    >>> distance = gs.measures.Measure("distance", squared_distance, higher_is_better=False)
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> print(gs.evaluate([gs.Linear(), gs.Gaussian()], X, y, measures=["cka", distance]))
    kernel                    cka ↑            distance ↓
    ------------------------  ---------------  --------------
    Linear()                  0.01804 ±0.034   1.964 ±0.067
    Gaussian(length_scale=1)  0.2069 ±0.041 *  1.586 ±0.082 *
    """

    name: str
    formula: Callable[[Sums], Scalar] = field(repr=False)
    higher_is_better: bool = True
    kinds: tuple[str, ...] = ("classes", "values", "labels")
    scale_invariant: bool = True
    translation_invariant: bool = True
    minimum: int = 2
    bounded: bool = False
    favours_identity: bool = False
    nonnegative: bool = False

    @property
    def sign(self) -> float:
        """+1 if higher is better, else -1."""
        return 1.0 if self.higher_is_better else -1.0

    @property
    def arrow(self) -> str:
        """An arrow that points to the better values, ↑ or ↓."""
        return "↑" if self.higher_is_better else "↓"

    def check(self, target: Target) -> None:
        """Raise `Undefined` if the measure has no value for this target."""
        if target.kind not in self.kinds:
            raise Undefined(
                f"Expected a target of kind {' or '.join(self.kinds)} for {self.name}, got "
                f'{target.kind}. Use another measure, such as "cka".'
            )
        if target.n < self.minimum:
            raise Undefined(
                f"Expected at least {self.minimum} samples for {self.name}, got {target.n:g}. "
                "Add samples."
            )

    def value(self, moments: Moments, target: Target) -> float:
        """Return the value for moments of one kernel."""
        return self.of(Sums(moments, target)).value

    def of(self, sums: Sums) -> Scalar:
        """Return the value from sums that several measures share, with its derivative."""
        self.check(sums.target)
        found = self.formula(sums)
        if not isinstance(found, Scalar):
            raise TypeError(
                f"Expected the formula of {self.name} to return a number made of those of `Sums`, "
                f"got {type(found).__name__}. Use Scalar(value) for a constant."
            )
        return found

    def value_and_adjoint(self, moments: Moments, target: Target) -> tuple[float, Adjoint]:
        """Return the value and its derivative for moments of one kernel."""
        result = self.of(Sums(moments, target, True))
        return result.value, result.adjoint or Adjoint.zeros(moments)

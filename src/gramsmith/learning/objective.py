"""Objective: a number about a kernel on fixed samples, with its derivative by the parameters.

Every measure is one; criteria that need solves (radius-margin bound, marginal likelihood,
leave-one-out error, Fisher criterion) are others. Learners see only this interface.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gramsmith.gram import Gram
from gramsmith.gram.threads import one_blas_thread
from gramsmith.kernels import Kernel
from gramsmith.kernels.embedding import add, add_named
from gramsmith.measures import Measure
from gramsmith.measures.alignment import ConstantKernelWarning
from gramsmith.targets import Target

Array = npt.NDArray[Any]

MATRICES = 3  # that a criterion holds at once: K, its decomposition, the derivative


class Objective(Protocol):
    """What a learner climbs: `sign` is +1 where higher is better."""

    name: str
    sign: float

    def value(self, kernel: Kernel) -> float:
        """Return the number for a kernel."""

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, dict[str, Any]]:
        """Return the number and its derivatives by nested parameter name."""


@dataclass
class MeasureObjective:
    """A measure of the Gram matrix, from a forward and a backward sweep.

    Parameters
    ----------
    measure : Measure
    X : samples
    target : Target
    memory, n_jobs, dtype
        As for `Gram`.
    """

    measure: Measure
    X: Any
    target: Target
    memory: float | None = None
    n_jobs: int | None = None
    dtype: Any = None

    def __post_init__(self) -> None:
        self.name = self.measure.name
        self.sign = self.measure.sign
        self.measure.check(self.target)

    def _gram(self, kernel: Kernel) -> Gram:
        return Gram(kernel, self.X, memory=self.memory, n_jobs=self.n_jobs, dtype=self.dtype)

    def value(self, kernel: Kernel) -> float:
        """Return the measure of a kernel."""
        with warnings.catch_warnings():
            # On the way a kernel may become flat; the measure is 0 there, which is all we need.
            warnings.simplefilter("ignore", ConstantKernelWarning)
            return self.measure.value(self._gram(kernel).moments(self.target), self.target)

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, dict[str, Any]]:
        """Return the measure of a kernel and its derivatives."""
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantKernelWarning)
            G = self._gram(kernel)
            moments = G.moments(self.target, keep=True)
            value, adjoint = self.measure.value_and_adjoint(moments, self.target)
            if not np.isfinite(value):
                return value, {}
            return value, G.pullback(adjoint, self.target, moments, inputs=False)[0].parameters


@dataclass
class DenseObjective:
    """A criterion of the dense Gram matrix, given as a function K -> (value, dvalue/dK).

    Parameters
    ----------
    name : str
    sign : float
    criterion : callable
        Takes K, shape (n, n); returns the value, and where asked its symmetric derivative.
    X : samples
    n_jobs
        As for `Gram`.
    """

    name: str
    sign: float
    criterion: Callable[[Array, bool], tuple[float, Array | None]]
    X: Any
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        check_dense(self.name, self.X.shape[0] if hasattr(self.X, "shape") else len(self.X))

    def _matrix(self, kernel: Kernel) -> Array:
        return Gram(kernel, self.X, n_jobs=self.n_jobs, dtype=np.float64).toarray()

    def value(self, kernel: Kernel) -> float:
        """Return the criterion of a kernel."""
        return self.criterion(self._matrix(kernel), False)[0]

    def value_and_gradient(self, kernel: Kernel) -> tuple[float, dict[str, Any]]:
        """Return the criterion of a kernel and its derivatives."""
        K = self._matrix(kernel)
        value, dK = self.criterion(K, True)
        if dK is None or not np.isfinite(value):
            return value, {}
        return value, contract(kernel, self.X, dK, K)


def check_dense(name: str, n: int, memory: float | None = None) -> None:
    """Raise a MemoryError if a criterion cannot hold its n x n matrices.

    Parameters
    ----------
    name : str
        Of the criterion.
    n : int
        The number of samples.
    memory : float, optional
        In bytes; default that of the machine, where it tells.
    """
    if memory is None:
        known = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else np.inf
    need = MATRICES * 8.0 * n * n
    if need > memory:
        raise MemoryError(
            f"Expected memory for {MATRICES} dense matrices of {n} x {n} numbers "
            f"({need / 2**30:.3g} GiB), which {name!r} needs, got {memory / 2**30:.3g} GiB. Learn "
            'from fewer samples, or use a measure such as "cka", which is summed tile by tile.'
        )


def contract(kernel: Kernel, X: Any, dK: Array, K: Array | None = None) -> dict[str, Any]:
    """Return the derivatives by the kernel's parameters of a number whose derivative by K is dK.

    Parameters
    ----------
    kernel : Kernel
    X : n samples
    dK : array of shape (n, n)
        Symmetric.
    K : array of shape (n, n), optional
        The Gram matrix, where it is at hand.
    """
    X = kernel.check_input(X)
    reference = kernel.reference(X)
    E = kernel.embed(X, reference)
    da, db, own = kernel.tile_vjp(E, E, dK, K, wants="parameters")
    total = add_named({}, own)
    dE = add(da, db)
    if dE is not None:
        _, by_embedding = kernel.embed_vjp(X, reference, E, dE)
        add_named(total, by_embedding)
    return total

"""Gram: the n x n matrix nobody holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, as_numbers, check_function, counted
from gramsmith.gram import features
from gramsmith.gram.embedded import EmbeddedKernel, embed_kernels
from gramsmith.gram.engine import Engine, ProgressCallback, as_engine, check_budget, sum_up
from gramsmith.gram.plan import Plan, make_plan
from gramsmith.gram.sweep import Backward, Forward, check_magnitude, pivots
from gramsmith.gram.threads import one_blas_thread, ordered_map
from gramsmith.gram.views import Views, as_views
from gramsmith.kernels.base import Kernel, check_blocks, check_derivatives, symmetrised
from gramsmith.kernels.embedding import add_named, count, rows
from gramsmith.kernels.finite import check_values
from gramsmith.kernels.precomputed import Precomputed, check_kernel_matrix
from gramsmith.moments import Adjoint, Moments
from gramsmith.targets import Target

Array = npt.NDArray[Any]

# Arrays of a backward sweep that share the cache: a tile and its derivative. Gradients then took
# 0.82 (Gaussian) to 0.93 (rational quadratic) of the time, on a machine with others at work.
BESIDE = 2


@dataclass(frozen=True)
class Gradient:
    """The derivative of a number by one kernel's parameters, under nested names, and its inputs."""

    parameters: dict[str, Any]
    inputs: Any


class Gram:
    """The Gram matrix of a kernel (or of several kernels) on samples, computed tile by tile.

    Parameters
    ----------
    kernel : Kernel, name, scikit-learn kernel, callable; or several of them; or Views
        Whatever `as_views` takes.
    X : array of shape (n, p), sparse matrix, or sequence of n objects
        With several kernels, a tuple holds one view of the samples per kernel.
    memory : float, optional
        Budget in MiB for tiles in work; default scikit-learn's ``working_memory``. Results do not
        depend on it.
    n_jobs : int, optional
        Threads; default all cores. Results do not depend on it.
    engine : Engine, distributed.Client or "dask", optional
        Who evaluates the tiles; default ``Threads(n_jobs, memory)``. Results do not depend on it.
    dtype : float64 or float32, optional
        Type of the tiles; sums are always float64. Default float32 for float32 input, else float64.
    progress : callable, optional
        Called with (tiles done, tiles in all) during a sweep.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> G = gs.Gram(gs.Linear(), X)
    >>> G.toarray()
    array([[ 1.,  3.,  5.],
           [ 3., 13., 23.],
           [ 5., 23., 41.]])
    >>> G @ np.ones(3)
    array([ 9., 39., 69.])
    """

    def __init__(
        self,
        kernel: Any,
        X: Any = None,
        *,
        memory: float | None = None,
        n_jobs: int | None = None,
        engine: Engine | None = None,
        dtype: Any = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.views = as_views(kernel, X)
        self.dtype = _tile_dtype(dtype, self.views.samples)
        self.engine = as_engine(engine, n_jobs, memory)
        check_function("progress", progress, "tiles done", "tiles in all")
        self.progress = progress
        with one_blas_thread():  # the threads of a larger product would spin on during the sweep
            room = 0 if self.engine.embeds_late else self.engine.budget
            self._members = embed_kernels(self.views, self.dtype, room)
        self.n = count(self._members[0].E)
        if self.n < 1:
            raise ValueError("Expected at least one sample, got none. Pass X with rows.")
        self._features: Any = None
        self._choices: dict[str, Any] = {}  # of the plan, where tests compare them
        # a tile and another working array; what a sweep needs beside them it says when it begins
        check_budget(2 * self.plan().largest * np.dtype(self.dtype).itemsize, self.engine.budget)

    # ---- what it is -------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.n, self.n

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels, in order."""
        return list(self.views.kernels)

    @property
    def kernel(self) -> Kernel:
        """The kernel, where there is one."""
        self._need_single("kernel")
        return self._members[0].kernel

    @property
    def samples(self) -> Any:
        """The samples of the kernel, where there is one."""
        self._need_single("samples")
        return self._members[0].X

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.n

    def __repr__(self) -> str:
        names = ", ".join(kernel.formula() for kernel in self.kernels[:3])
        more = ", ..." if len(self.kernels) > 3 else ""
        return (
            f"Gram({names}{more}; {counted(self.n, 'sample')}, {np.dtype(self.dtype).name} tiles)"
        )

    def plan(self, fold: Array | None = None, together: int = 1) -> Plan:
        """Return the tiles of a sweep over folds, of kernels that stand side by side."""
        return make_plan(self.n, self.dtype, fold, together=together, **self._choices)

    # ---- as a matrix ------------------------------------------------------------------------

    def diagonal(self) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        self._need_single("diagonal")
        return self._members[0].kernel.diagonal(self._members[0].whole)

    def block(self, row_index: Any, column_index: Any) -> Array:
        """Return the kernel of chosen rows and columns (slices or integer arrays)."""
        self._need_single("block")
        member = self._members[0]
        I, J = (_as_index(index, self.n) for index in (row_index, column_index))
        K = member.kernel.tile(rows(member.E, I), rows(member.E, J))
        if member.kernel.noisy:  # a sample with itself is more than two equal samples
            numbers = np.arange(self.n)
            i, j = np.nonzero(numbers[I][:, None] == numbers[J])
            K[i, j] = member.kernel.diagonal(rows(member.E, numbers[I][i]))
        check_values(K, member.kernel)
        return K

    def toarray(self) -> Array:
        """Return the whole matrix, exactly symmetric."""
        self._need_single("toarray")
        plan, member = self.plan(), self._members[0]
        K = np.empty(self.shape, dtype=self.dtype)

        def fill(tile: tuple[int, int]) -> None:
            I, J = (plan.blocks[b].rows for b in tile)
            a = rows(member.E, I)
            b = a if tile[0] == tile[1] else rows(member.E, J)
            part = member.kernel.tile(a, b, K[I, J])
            check_values(part, member.kernel)
            if a is b:
                part = symmetrised(part)
            if part.base is not K:
                K[I, J] = part
            if a is not b:
                K[J, I] = part.T

        for _ in ordered_map(fill, plan.tiles, self.engine.workers):
            pass
        return K

    def __matmul__(self, v: Any) -> Array:
        """Return K v for a vector or a matrix v of n rows."""
        self._need_single("@")
        v = np.asarray(v, dtype=np.float64)
        if v.ndim not in (1, 2) or len(v) != self.n:
            raise ValueError(f"Expected {counted(self.n, 'row')} to multiply, got shape {v.shape}.")
        V = v.reshape(self.n, -1)
        plan = self.plan()
        if self._features is None:  # kept, since who multiplies once does so again
            self._features = features.find_routes(self._members, plan, 1, self.engine.budget, False)
        [(_, Us)] = self._features
        if Us is not None:
            return np.asarray(Us[0] @ (Us[0].T @ V)).reshape(v.shape)
        members = (self._members[0].for_sweep(plan.compiled),)
        task = Forward(members, plan, self.dtype, V, np.ones(self.n), np.zeros(1))
        moments: Moments = sum_up(self.engine, task, self.progress)
        return np.asarray(moments.PV[0].reshape(v.shape))

    def joined(self, other: Gram) -> Gram:
        """Return the Gram of the kernels of both, on the same samples."""
        if other.n != self.n:
            raise ValueError(
                f"Expected kernels on the same samples, got {self.n} and {other.n}. "
                "Give both the same rows in the same order."
            )
        return self._with(self.views.joined(other.views), [*self._members, *other._members])

    def _with(self, views: Views, members: list[EmbeddedKernel]) -> Gram:
        """Return a Gram of other kernels on the same samples, with the same options."""
        other = copy(self)
        other.views, other._members, other._features = views, members, None
        return other

    # ---- the two sweeps ---------------------------------------------------------------------

    def moments(
        self,
        target: Target | Sequence[Target],
        *,
        fold: Array | None = None,
        cross: bool | None = None,
    ) -> Moments:
        """Return the sums from which every measure follows.

        Parameters
        ----------
        target : Target or list of Target
            With several targets (of equal weights) their probes stand side by side; see
            `Moments.columns`.
        fold : array of shape (n,), optional
            Fold of every sample, in non-decreasing order.
        cross : bool, optional
            Inner products between kernels. Default: when there are two kernels.

        Returns
        -------
        Moments
        """
        targets = [target] if isinstance(target, Target) else list(target)
        w = targets[0].w
        if len(w) != self.n:
            raise ValueError(
                f"Expected one target per sample ({self.n}), got {len(w)}. "
                "X and y have inconsistent numbers of samples."
            )
        probe = np.hstack([t.wV for t in targets])
        folds = np.zeros(self.n, dtype=int) if fold is None else np.asarray(fold)
        kernels = self.views.kernels
        crossed = len(kernels) > 1 and (len(kernels) == 2 if cross is None else cross)
        plan, parts = self.plan(folds, len(kernels) if crossed else 1), []
        count, budget = int(folds.max(initial=0)) + 1, self.engine.budget
        with one_blas_thread():
            for group, Us in features.find_routes(self._members, plan, count, budget, crossed):
                if Us is None:
                    members = tuple(member.for_sweep(plan.compiled) for member in group)
                    pivot = pivots(members, plan, self.dtype)
                    task = Forward(members, plan, self.dtype, probe, w, pivot, crossed)
                    part = sum_up(self.engine, task, self.progress)
                else:
                    part = features.explicit_moments(Us, probe, w, folds, cross=crossed)
                swept = [kernel for member in group for kernel in member.kernels]
                check_magnitude(swept, part, w, self.dtype if Us is None else np.float64)
                parts.append(part)
        return parts[0] if len(parts) == 1 else features.side_by_side(parts)

    def pullback(
        self, adjoint: Adjoint, target: Target, moments: Moments, *, inputs: bool = True
    ) -> list[Gradient]:
        """Return the derivatives of a number with the given adjoint, one Gradient per kernel.

        Parameters
        ----------
        adjoint : Adjoint
        target : Target
        moments : Moments
            Of the forward sweep.
        inputs : bool, default=True
            Whether derivatives by the samples are wanted too; without them it is less work.

        Returns
        -------
        list of Gradient
        """
        for kernel in self.views.kernels:
            if not kernel.learnable:
                raise kernel._no_derivative()
            if inputs and not kernel.differentiable:
                raise kernel._none_by_samples()
        members, plan = self._members, self.plan(together=BESIDE)
        if any(len(member.kernels) > 1 for member in members):  # each has slopes of its own
            members = embed_kernels(self.views, self.dtype, self.engine.budget, paths=False)
        task = Backward(
            tuple(member.for_sweep(plan.compiled) for member in members),
            plan,
            self.dtype,
            adjoint.unpivoted(moments, target),
            target.wV,
            target.w,
            inputs,
        )
        gradients = []
        with one_blas_thread():
            found = sum_up(self.engine, task, self.progress)
            for k, (member, (parameters, dE)) in enumerate(zip(members, found, strict=True)):
                dX = None
                if dE is not None:
                    dX, by_embedding = member.kernel.embed_vjp(
                        member.X, member.reference, member.whole, dE
                    )
                    add_named(parameters, by_embedding)
                if k in task.needed:  # of the others nothing was asked
                    check_derivatives(member.kernel, parameters)
                    if inputs:
                        check_blocks(member.kernel, dX)
                gradients.append(Gradient(parameters, dX if inputs else None))
        return gradients

    # ---- checks -----------------------------------------------------------------------------

    def _need_single(self, what: str) -> None:
        if len(self._members) != 1 or len(self._members[0].kernels) != 1:
            raise ValueError(
                f"Expected a single kernel for `{what}`, got {len(self.kernels)}. "
                "Build a Gram for one of them."
            )


def as_gram(K: Any, **options: Any) -> Gram:
    """Return a Gram as it is, or the Gram of a precomputed matrix after checking it."""
    if isinstance(K, Gram):
        return K
    return Gram(Precomputed(), check_kernel_matrix(K, psd="ignore"), **options)


def _tile_dtype(dtype: Any, views: Sequence[Any]) -> Any:
    if dtype is None:
        single = all(getattr(X, "dtype", None) == np.float32 for X in views)
        return np.float32 if single else np.float64
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = np.dtype(object)
    if found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise ValueError(f"Expected dtype float64 or float32, got {abridged(dtype)}.")
    return found.type


def _as_index(index: Any, n: int) -> Any:
    """Return a slice, or the numbers of rows as an array, or raise."""
    if isinstance(index, slice):
        with suppress(TypeError, ValueError):  # of texts and fractions, of a step of 0
            index.indices(n)
            return index
    else:
        numbers = as_numbers(index)
        found = np.asarray(index) if numbers is not None else np.empty(0)
        if found.shape == (0,) and numbers is not None:
            return np.empty(0, dtype=int)
        if found.ndim == 1 and found.dtype == bool and len(found) == n:
            return np.flatnonzero(found)
        inside = found.dtype.kind in "iu" and not ((found < -n) | (found >= n)).any()
        if found.ndim == 1 and inside:
            return found
    raise ValueError(
        f"Expected a slice or an array of row numbers from 0 to {n - 1}, got {abridged(index)}."
    )

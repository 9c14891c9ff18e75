"""Kernel: how two samples compare, and how that comparison changes.

A kernel is evaluated in two steps. `embed` does once per sample what can be done once (centring,
scaling, norms, k-mer counts); `tile` compares two blocks of embedded samples. Each has its
pullback, so that the derivative of any function of the Gram matrix travels back to the parameters
and to the inputs without an array larger than a tile::

    X --embed--> E --tile(a, b)--> K          diagonal(a) -> d
    dX, dθ <--embed_vjp-- dE, dθ <--tile_vjp-- W          <--diagonal_vjp-- w

These six methods are what a kernel is (`Kernel`, first section). A kernel that is only evaluated
needs two of them, `tile` and `diagonal`; one that is a function of a distance or an inner product
needs none, only `value` and `slope` (`gramsmith.kernels.geometry.PairKernel`). Everything else is
optional and stands in `OptionalHooks`: facts about the kernel, and ways to be faster.

The same objects are scikit-learn kernels: `kernel(X, Y)`, `kernel.diag(X)`, `theta`, `bounds` and
`eval_gradient` make them work in `SVC`, `KernelRidge`, `GaussianProcessRegressor` and the others.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from gramsmith.kernels.embedding import Embedding
from gramsmith.kernels.finite import as_rows, check_real, check_values
from gramsmith.kernels.parametrised import Parametrised, theta_gradient

Array = npt.NDArray[Any]
Derivatives = dict[str, Any]  # by the nested names of parameters
Pullback = tuple[Embedding, Embedding, Derivatives]

# What +, *, ** and @ do: `adapt` knows numbers, maps and kernels from elsewhere, and fills this in.
OPERATORS: dict[str, Callable[[Any, Any], Kernel]] = {}


class NotDifferentiable(TypeError):
    """Raised when a kernel without a derivative is asked for one; the message names the kernel."""


def _always_new(tile: Callable[..., Any]) -> Callable[..., Array]:
    """Return a method `tile` that has no `out` with one; of whole numbers it makes floats."""

    def with_out(self: Kernel, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        K: Array = np.require(tile(self, a, b), None, "W")  # read-only if from JAX
        if K.dtype in (np.float64, np.float32):
            return K
        check_real(K)
        return K.astype(np.float64 if out is None else out.dtype)

    with_out.__doc__ = tile.__doc__
    return with_out


def defined_before(cls: type, names: tuple[str, ...], other: str) -> bool:
    """Return whether a class, or one it derives from, defines a name nearer to it than `other`."""
    place = {name: i for i, c in reversed(list(enumerate(cls.__mro__))) for name in vars(c)}
    return any(place.get(name, len(cls.__mro__)) < place[other] for name in names)


class OptionalHooks(Parametrised):
    """What a kernel may say about itself and may do faster; the defaults are always right.

    A kernel made of others passes on what these say.
    """

    # ---- what all blocks of one computation share --------------------------------------------

    def reference(self, *Xs: Any) -> Any:
        """Return what samples are embedded against, found once for all blocks, or None.

        The centre of the data, the vocabulary of all strings: `embed` of any part of Xs is given
        it, so that the parts can be compared.
        """
        return None

    def fixed_to(self, X: Any) -> Any:
        """Return the kernel with what it takes from the samples at hand taken from X, or itself.

        What is fitted fixes its kernel to the training samples, so that no prediction depends on
        the other samples of its batch.
        """
        parts = {name: child.fixed_to(X) for name, child in self.children().items()}
        changed = {name: part for name, part in parts.items() if part is not getattr(self, name)}
        return clone(self).set_params(**changed) if changed else self

    # ---- faster ways -------------------------------------------------------------------------

    def tile_and_slopes(self, a: Embedding, b: Embedding, out: Array) -> tuple[Array, Any]:
        """Return the tile and what `tile_vjp` may be given as K to save work, by default the tile.

        Arrays of `embedding.lend` may be used for it.
        """
        K = self.tile(a, b, out)
        return K, K

    def features(self, X: Any, reference: Any = None) -> Any:
        """Return U with kernel(X) = U U' where that is cheaper than tiles, else None."""
        return None

    # ---- facts -------------------------------------------------------------------------------

    @property
    def positive_definite(self) -> bool:
        """Whether the kernel is positive semidefinite for every data set."""
        return all(child.positive_definite for child in self.children().values())

    @property
    def differentiable(self) -> bool:
        """Whether the pullbacks are defined, by the parameters and by the samples."""
        defined = type(self).tile_vjp is not Kernel.tile_vjp
        return defined and all(child.differentiable for child in self.children().values())

    @property
    def learnable(self) -> bool:
        """Whether derivatives by the parameters are defined, if not those by the samples."""
        defined = type(self).tile_vjp is not Kernel.tile_vjp
        return defined and all(child.learnable for child in self.children().values())

    @property
    def noisy(self) -> bool:
        """Whether a sample with itself is more than two equal samples, as in white noise."""
        return any(child.noisy for child in self.children().values())

    @property
    def accepts_sparse(self) -> bool:
        """Whether CSR input is computed without making it dense."""
        children = self.children()
        return bool(children) and all(child.accepts_sparse for child in children.values())

    @property
    def requires_nonnegative_input(self) -> bool:
        """Whether inputs must not be negative."""
        return any(child.requires_nonnegative_input for child in self.children().values())


class Kernel(OptionalHooks, SklearnKernel):
    """Base class of all kernels.

    Subclasses give `tile` and `diagonal` (and their pullbacks to be learnable), and list their
    parameters, see `Parametrised`. Sub-kernels are found through the constructor's arguments.

    Examples
    --------
    >>> class Overlap(Kernel):
    ...     def tile(self, a, b):
    ...         return np.minimum(a[:, None, :], b[None, :, :]).sum(axis=2)
    ...
    ...     def diagonal(self, a):
    ...         return a.sum(axis=1)
    >>> Overlap()([[1.0, 2.0], [3.0, 0.0]])
    array([[3., 1.],
           [1., 3.]])
    """

    # scikit-learn's Kernel compares by value, which makes `kernel == "precomputed"` and hashing
    # unreliable; identity is what estimators expect.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Add and multiply as kernels do: each entry of an array would become a kernel."""
        operator = {np.add: "+", np.multiply: "*"}.get(ufunc)
        if operator is not None and method == "__call__" and len(inputs) == 2:
            return OPERATORS[operator](*inputs)
        boxed = [np.empty((), dtype=object) if x is self else x for x in inputs]
        for box, x in zip(boxed, inputs, strict=True):
            if x is self:
                box[()] = self
        return getattr(ufunc, method)(*boxed, **options)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "out" not in signature(cls.tile).parameters:  # its own, or that of a mixin
            cls.tile = _always_new(cls.tile)  # type: ignore[method-assign]
        # A class with formulas of its own has no use for the slopes and features of its ancestors.
        if defined_before(cls, ("tile", "tile_vjp"), "tile_and_slopes"):
            cls.tile_and_slopes = OptionalHooks.tile_and_slopes  # type: ignore[method-assign]
        if defined_before(cls, ("tile", "tile_of", "value"), "features"):
            cls.features = OptionalHooks.features  # type: ignore[method-assign]

    def with_compiled_formulas(self) -> Any:
        """Return the kernel with compiled formulas in it and in its parts: a copy, for a sweep."""
        parts = {name: part.with_compiled_formulas() for name, part in self.children().items()}
        changed = {name: part for name, part in parts.items() if part is not getattr(self, name)}
        if not changed:
            return self
        other = copy(self)
        for name, part in changed.items():
            setattr(other, name, part)
        return other

    # ---- what a kernel is: three methods and their pullbacks ---------------------------------

    def embed(self, X: Any, reference: Any = None, dtype: Any = np.float64) -> Embedding:
        """Return what is kept of each sample; rows of the result belong to rows of X.

        `reference` is what `reference(X)` returned, None for most kernels.
        """
        return X

    def tile(self, a: Embedding, b: Embedding, out: Array | None = None) -> Array:
        """Return the kernel of every pair of two blocks, shape (n_a, n_b).

        In `out` where that is given and of the right type, else as a new array, which the caller
        may overwrite. A kernel that makes new ones only may leave the argument away.
        """
        raise NotDifferentiable(f"{type(self).__name__} defines no tile.")

    def diagonal(self, a: Embedding) -> Array:
        """Return the kernel of every sample with itself, shape (n_a,), in float64."""
        raise NotDifferentiable(f"{type(self).__name__} defines no diagonal.")

    def tile_vjp(self, a: Any, b: Any, W: Array, K: Any = None, wants: str = "samples") -> Pullback:
        """Return the derivatives of sum(W * tile(a, b)) by both blocks and by the parameters.

        Parameters
        ----------
        a, b : embeddings
        W : array of shape (n_a, n_b)
        K : array of shape (n_a, n_b), optional
            The tile, where the caller still has it.
        wants : {"samples", "scales", "parameters"}, default="samples"
            What the derivatives by the blocks are for; a kernel may always return them in full.
            "samples": all of them. "scales": for one factor per feature, so that of the derivative
            dz by the (centred) samples z only Σ_i z_ik dz_ik need be right, over both blocks
            together. "parameters": for the parameters of this kernel, as far as these act through
            `embed`; None where they do not.
        """
        raise self._no_derivative()

    def diagonal_vjp(self, a: Embedding, w: Array) -> tuple[Embedding, Derivatives]:
        """Return the derivatives of sum(w * diagonal(a)) by the block and by the parameters."""
        raise self._no_derivative()

    def embed_vjp(self, X: Any, reference: Any, E: Any, dE: Any) -> tuple[Any, Derivatives]:
        """Return the derivatives by the inputs (None if they have none) and by the parameters."""
        return dE, {}

    # ---- what every kernel has ---------------------------------------------------------------

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples must be numeric vectors (scikit-learn's name)."""
        # A part that takes anything, such as Constant, does not free the others.
        children = self.children()
        return not children or any(c.requires_vector_input for c in children.values())

    def is_stationary(self) -> bool:
        """Return whether the kernel depends on x - z only."""
        children = self.children()
        return bool(children) and all(child.is_stationary() for child in children.values())

    def formula(self) -> str:
        """Return a short readable name, such as ``Gaussian(length_scale=0.5) + Linear()``."""
        shown = []
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, Kernel):
                shown.append(value.formula())
            elif isinstance(value, float):
                shown.append(f"{name}={value:.4g}")
            elif isinstance(value, np.ndarray):
                shown.append(f"{name}=array{value.shape}")
            else:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def check_input(self, X: Any) -> Any:
        """Return X as the kernel wants it, or raise: numeric, finite, two-dimensional."""
        if not self.requires_vector_input:
            return X
        if sp.issparse(X) and not self.accepts_sparse:
            raise TypeError(
                f"{type(self).__name__}: expected dense input, got a sparse matrix. "
                "Use X.toarray() if memory permits, or a kernel that works on sparse rows "
                "(Linear, Polynomial, Gaussian, Tanimoto)."
            )
        X = as_rows(X)
        if self.requires_nonnegative_input and X.shape[0] and X.min() < 0:
            raise ValueError(
                f"{type(self).__name__}: expected non-negative values, got a minimum of "
                f"{X.min():.6g}. Shift or count the features, or use another kernel. "
                "(Negative values in data passed to X.)"
            )
        return X

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the kernel matrix of X and Y.

        Parameters
        ----------
        X : array of shape (n_x, p), or sequence of n_x objects
        Y : array of shape (n_y, p), or sequence of n_y objects, optional
            Default: X.
        eval_gradient : bool
            Also return the derivative by `theta`, shape (n_x, n_x, len(theta)); needs Y=None.

        Returns
        -------
        K : array of shape (n_x, n_y)
        """
        self.check_parameters()
        if eval_gradient and Y is not None:
            raise ValueError("Expected Y=None with eval_gradient=True, got Y. Leave Y out.")
        alone = Y is None or (Y is X and not self.noisy)
        X = self.check_input(X)
        if alone:
            a = self.embed(X, self.reference(X))
            K = symmetrised(self.tile(a, a))
            if eval_gradient:  # an optimiser goes back from an overflow by itself
                return K, theta_gradient(self, X)
        else:
            Y = self.check_input(Y)
            self._check_widths(X, Y)
            if sp.issparse(X) != sp.issparse(Y):
                X, Y = (sp.csr_array(as_rows(part)) for part in (X, Y))
            reference = self.reference(X, Y)
            K = self.tile(self.embed(X, reference), self.embed(Y, reference))
        check_values(K, self)
        return K

    def diag(self, X: Any) -> Array:
        """Return the diagonal of ``kernel(X)`` without computing the rest."""
        self.check_parameters()
        X = self.check_input(X)
        return self.diagonal(self.embed(X, self.reference(X)))

    def _check_widths(self, X: Any, Y: Any) -> None:
        axes = [len(getattr(samples, "shape", (0,))) for samples in (X, Y)]
        if axes[0] != axes[1]:
            raise ValueError(
                f"{type(self).__name__}: expected X and Y of one kind, got "
                f"{' and '.join('objects' if k == 1 else 'rows of numbers' for k in axes)}."
            )
        if self.requires_vector_input and X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"Expected X and Y with the same number of features, got {X.shape[1]} and "
                f"{Y.shape[1]}. Pass the columns the kernel was built for to both."
            )

    def _no_derivative(self) -> NotDifferentiable:
        child: Kernel
        for child in self.children().values():
            if not child.learnable:
                return child._no_derivative()
        pullbacks = ("tile_vjp", "diagonal_vjp")
        missing = [m for m in pullbacks if getattr(type(self), m) is getattr(Kernel, m)]
        write = (
            f"For one of your own write a class derived from gramsmith.kernels.Kernel with "
            f"{' and '.join(missing)}, and name its parameters in `positive` or `free`: see the "
            "page Extend of the guide. "
        )
        return NotDifferentiable(
            f"Expected a kernel with a derivative, got {type(self).__name__}, which has none. "
            f"{write if missing else ''}"
            "Otherwise keep its parameters fixed, or use a differentiable kernel such as Gaussian."
        )

    def _none_by_samples(self) -> NotDifferentiable:
        return NotDifferentiable(
            "Expected a kernel with a derivative by the samples, got "
            f"{type(self).__name__}, which gives none. Ask for its parameters alone, with "
            "inputs=False; a tile_vjp of your own returns it for both blocks."
        )

    def __add__(self, other: Any) -> Kernel:
        return OPERATORS["+"](self, other)

    def __radd__(self, other: Any) -> Kernel:
        # sum() begins with 0
        return self if isinstance(other, int) and other == 0 else OPERATORS["+"](other, self)

    def __mul__(self, other: Any) -> Kernel:
        return OPERATORS["*"](self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return OPERATORS["*"](other, self)

    def __pow__(self, exponent: Any) -> Kernel:
        return OPERATORS["**"](self, exponent)

    def __matmul__(self, map: Any) -> Kernel:
        return OPERATORS["@"](self, map)

    def __repr__(self) -> str:
        return str(BaseEstimator.__repr__(self))

    def __str__(self) -> str:
        return self.formula()


def check_derivatives(kernel: Kernel, named: Derivatives) -> None:
    """Raise a ValueError unless derivatives are by the parameters that a kernel declares."""
    for name in sorted(named.keys() - set(kernel.parameter_names())):
        *path, last = name.split("__")
        part: Any = kernel
        for step in path:
            part = getattr(part, step, None)
        own = (*getattr(part, "positive", ()), *getattr(part, "free", ()))
        if last not in own:  # if it is, its value is one that gradients do not change
            raise ValueError(
                f"Expected derivatives by declared parameters, got one by {last!r} from "
                f"{type(part).__name__}, whose declared parameters are {', '.join(own) or 'none'}. "
                "Return them under the names of the arguments, and list these in `positive` or "
                "`free`."
            )
    for name in named.keys() & set(kernel.parameter_names()):
        shape, needed = np.shape(named[name]), np.shape(kernel._lookup(name))
        # a path of kernels has an axis more; one number in an array of one is one number
        if np.prod(shape[len(shape) - len(needed) :]) != np.prod(needed):
            raise ValueError(
                f"Expected a derivative by {name} of its shape {needed}, got one of shape {shape}. "
                "Sum over the pairs of samples and nothing else."
            )


def check_blocks(kernel: Kernel, by_samples: Any) -> None:
    """Raise if a kernel of vectors that claims a derivative by the samples gave None for it."""
    if by_samples is None and kernel.requires_vector_input and kernel.differentiable:
        raise kernel._none_by_samples()


def symmetrised(K: Array, block: int = 128) -> Array:
    """Return (K + K') / 2 in place: a matrix product is not symmetric to the last bit."""
    K = K if K.dtype.kind == "f" else K.astype(np.float64)  # counts
    cuts = [slice(i, i + block) for i in range(0, len(K), block)]
    for i, I in enumerate(cuts):
        for J in cuts[i:]:
            mean = K[I, J] + K[J, I].T
            mean *= 0.5
            K[I, J] = mean
            K[J, I] = mean.T
    return K


def bracketed(kernel: Kernel, operator: str) -> str:
    """Return the formula of a kernel, in brackets where it binds less than its surroundings.

    `operator` is "*" for a factor, "@" for what stands before a map.
    """
    formula = kernel.formula()
    depths = np.cumsum([(letter == "(") - (letter == ")") for letter in formula])
    outside = "".join(letter for letter, depth in zip(formula, depths, strict=True) if not depth)
    loose = (" + ",) if operator == "*" else (" + ", " * ", " @ ")
    negative = operator == "@" and formula.startswith("-")
    return f"({formula})" if negative or any(sign in outside for sign in loose) else formula

"""compare_representations: every pair of representations of the same samples, from one pass.

For representations X_k with kernels K_k everything follows from q_kl = <K_k, K_l>, row sums and
diagonals, whichever of two ways is cheaper: tiles of all kernels at once, n² Σd, or features of
linear kernels, q_kl = |X_k' X_l|², n (Σd)². Both keep the sums without each fold, for the errors.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state

from gramsmith.arguments import abridged, is_one_of
from gramsmith.evaluation.errors import FOLDS, assign_folds, interval, jackknife
from gramsmith.evaluation.path import median_distance
from gramsmith.evaluation.result import html_table, text_table
from gramsmith.gram import Gram
from gramsmith.kernels import Gaussian, Kernel, Linear, as_kernel
from gramsmith.kernels.finite import eager
from gramsmith.measures.alignment import FLAT, kernel_products
from gramsmith.moments import Moments
from gramsmith.report.results import draw_matrix, matrix_frame
from gramsmith.targets import Target

Array = npt.NDArray[Any]

# scikit-learn brings it along; it has types, for which mypy would look in all of scikit-learn
_array_api = import_module("sklearn.externals.array_api_compat")
array_namespace, device = _array_api.array_namespace, _array_api.device
is_numpy_array, is_torch = _array_api.is_numpy_array, _array_api.is_torch_array

PROJECTIONS = {
    "cka_debiased": "debiased",
    "cka": "centred",
    "alignment": "plain",
    "hsic": "centred",
    "hsic_unbiased": "debiased",
}
TILES = 1 << 25  # bytes of the tiles of all representations that are held at a time
COLUMNS = 128  # of the second factor of X_k' X_l that are held at a time, for every fold
BLOCK = 1024  # rows that are held in double precision
LEAST = 4  # samples of a debiased measure
LARGEST = 1e70  # number whose fourth power may be added up


@dataclass(frozen=True)
class RepresentationMatrix:
    """Measures between representations of the same samples.

    Parameters
    ----------
    values : array of shape (m, k)
    errors : array of shape (m, k)
        Jackknife standard errors, nan where there are too few samples.
    names, others : list of str
        Of the rows and of the columns.
    measure : str
    n : int
        Number of samples.
    notes : tuple of str
        What was flattened, pooled, converted or left out.
    left_out : array of shape (F, m, k)
        The values computed anew F times, each time without one of F parts of the samples; for
        batches, without one batch, or without every twentieth of many.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> print(gs.compare_representations({"all": X, "part": X[:, :3], "twice": 2.0 * X}))
    cka_debiased  all          part         twice
    ------------  -----------  -----------  -----------
    all           1 ±0         0.712 ±0.03  1 ±0
    part          0.712 ±0.03  1 ±0         0.712 ±0.03
    twice         1 ±0         0.712 ±0.03  1 ±0
    """

    values: Array
    errors: Array
    names: list[str]
    others: list[str]
    measure: str
    n: int
    notes: tuple[str, ...] = ()
    left_out: Array = field(default_factory=lambda: np.empty((0, 0, 0)), repr=False)

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Return limits between which the values of other samples like these are on average.

        Parameters
        ----------
        confidence : float, default=0.95
            Share of samples whose limits hold that average.

        Returns
        -------
        low, high : arrays of shape (m, k)
        """
        low, high = np.full_like(self.values, np.nan), np.full_like(self.values, np.nan)
        for i, j in np.ndindex(self.values.shape):
            limits = interval(float(self.values[i, j]), self.left_out[:, i, j], confidence)
            low[i, j], high[i, j] = (np.nan, np.nan) if limits is None else limits
        return low, high

    def frame(self, errors: bool = False) -> Any:
        """Return the values, or their errors, as a pandas data frame of named rows and columns.

        Parameters
        ----------
        errors : bool, default=False
            Whether the errors are wanted.
        """
        return matrix_frame(self.errors if errors else self.values, self.names, self.others)

    def plot(self, ax: Any = None) -> Any:
        """Draw the matrix as a heat map.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib axes
        """
        return draw_matrix(self.values, self.names, self.others, self.measure, ax)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        cells = [
            [
                f"{v:.3g}" + (f" ±{e:.2g}" if np.isfinite(e) else "")
                for v, e in zip(*row, strict=True)
            ]
            for row in zip(self.values, self.errors, strict=True)
        ]
        body = [[name, *row] for name, row in zip(self.names, cells, strict=True)]
        return [self.measure, *self.others], body

    def __str__(self) -> str:
        return "\n".join([text_table(*self._table()), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return html_table(*self._table()) + notes


def compare_representations(
    layers: Any,
    others: Any = None,
    measure: str = "cka_debiased",
    kernel: Any = "linear",
    *,
    pooling: str = "flatten",
    random_state: Any = 0,
) -> RepresentationMatrix:
    r"""Return a measure between every pair of representations of the same samples.

    .. math:: \langle PK, PL\rangle / (\|PK\|\, \|PL\|)

    for the kernels K and L of two representations, such as the layers of two networks; P is
    U-centring (debiased CKA), centring (CKA) or nothing (alignment). All pairs come from one pass.

    Parameters
    ----------
    layers : dict of name -> array, list of arrays, or iterator of such dicts or lists
        Arrays of shape (n, d), or activations of three and four axes; of NumPy (memory maps too),
        torch, JAX, or any library of the array API. An iterator gives batches of samples, for what
        does not fit: batches of one size give minibatch CKA.
    others : like `layers`, optional
        What `layers` are compared with; default themselves.
    measure : {"cka_debiased", "cka", "alignment", "hsic", "hsic_unbiased"}, default="cka_debiased"
        Batches have "cka_debiased" and "hsic_unbiased".
    kernel : "linear", "gaussian", or kernel, default="linear"
        "gaussian" has the median distance of each representation as its width. Linear kernels of
        arrays of torch, or of the array API, are multiplied where these live; for other kernels
        they are converted to NumPy.
    pooling : {"flatten", "mean"}, default="flatten"
        What becomes of activations: all their numbers; or averages over positions, which are axis
        1 of three (n, tokens, d) and the last two axes of four (n, channels, height, width).
    random_state : int or RandomState, default=0
        Decides the folds of the errors.

    Returns
    -------
    RepresentationMatrix
        With `values`, `errors`, `frame` and `plot`.

    References
    ----------
    Kornblith et al.: Similarity of neural network representations revisited (2019).
    Nguyen, Raghu, Kornblith: Do wide and deep networks learn the same things? (2021), for batches.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 8))
    >>> noisy = {f"noise {s}": X + s * rng.normal(size=X.shape) for s in (0.5, 2.0)}
    >>> print(gs.compare_representations({"clean": X}, noisy))
    cka_debiased  noise 0.5      noise 2.0
    ------------  -------------  ------------
    clean         0.804 ±0.0074  0.193 ±0.021
    """
    for name, value, allowed in (
        ("measure", measure, tuple(PROJECTIONS)),
        ("pooling", pooling, ("flatten", "mean")),
    ):
        if not is_one_of(value, allowed):
            raise ValueError(f"Expected {name} among {', '.join(allowed)}, got {abridged(value)}.")
    if _is_stream(layers):
        return _over_batches(layers, others, measure, kernel, pooling)
    joined = _Joined.of(layers, others, pooling)
    n, count = joined.n, min(FOLDS, joined.n // 2)
    enough = count > 1 and n - -(-n // count) >= LEAST  # samples left without the largest fold
    order, fold = assign_folds(_ones(n), count if enough else 0, check_random_state(random_state))
    moments = _moments(joined, kernel, order, fold)
    parts = [moments, *(moments.without(f)[0] for f in range(0 if fold is None else count))]
    return joined.result(
        measure, [_values(_products(part, measure), measure, part.d.shape[1]) for part in parts]
    )


# ---- the representations ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Joined:
    """Rows and columns of the matrix as one list of arrays of shape (n, d)."""

    arrays: list[Any]
    names: list[str]
    others: list[str] | None
    notes: list[str]

    @classmethod
    def of(cls, layers: Any, others: Any, pooling: str) -> _Joined:
        named = _named(layers, "layers")
        more = [] if others is None else _named(others, "others")
        notes: list[str] = []
        arrays = [_as_rows(name, X, pooling, notes) for name, X in (*named, *more)]
        sizes = {int(X.shape[0]) for X in arrays}
        if min(sizes) < 2:
            raise ValueError("Expected at least 2 samples, got fewer.")
        if len(sizes) != 1:
            raise ValueError(
                f"Expected representations of the same samples, got {sorted(sizes)} rows. Pass the "
                "same rows in the same order."
            )
        columns = None if others is None else [name for name, _ in more]
        return cls(arrays, [name for name, _ in named], columns, notes)

    @property
    def all_names(self) -> list[str]:
        """The names of all arrays."""
        return [*self.names, *(self.others or [])]

    @property
    def n(self) -> int:
        """The number of samples."""
        return int(self.arrays[0].shape[0])

    def result(
        self, measure: str, values: list[Array], n: int | None = None
    ) -> RepresentationMatrix:
        """Return the matrix from the values of all pairs: of all rows, then without each fold."""
        m = len(self.names)
        part = np.array(values)[:, :m, 0 if self.others is None else m :]
        cells = part[1:].reshape(len(part) - 1, part[0].size).T
        errors = np.array([jackknife(column) for column in cells], dtype=float)
        return RepresentationMatrix(
            part[0],
            np.where(errors < 1e-13, 0.0, errors).reshape(part.shape[1:]),  # of equal values
            self.names,
            self.names if self.others is None else self.others,
            measure,
            self.n if n is None else n,
            tuple(self.notes),
            part[1:],
        )


def _named(layers: Any, what: str) -> list[tuple[str, Any]]:
    if isinstance(layers, Mapping):
        found = [(str(name), X) for name, X in layers.items()]
    elif isinstance(layers, list | tuple):
        found = [(f"layer {i}", X) for i, X in enumerate(layers)]
    else:
        raise TypeError(
            f"Expected a dict or a list of arrays as {what}, got {type(layers).__name__}. Put a "
            "single array into a list."
        )
    if not found:
        raise ValueError(f"Expected at least one array as {what}, got none.")
    if isinstance(found[0][1], Mapping):
        raise TypeError(
            f"Expected a dict or a list of arrays as {what}, got a list of dicts. If these are "
            "batches of samples, pass iter(...) of the list."
        )
    return found


def _as_rows(name: str, X: Any, pooling: str, notes: list[str]) -> Any:
    """Return an array of two axes where it lives, of its own type."""
    if sp.issparse(X) or getattr(X, "is_sparse", False):
        raise TypeError(f"{name}: expected dense rows, got sparse ones. Make them dense first.")
    X = X.detach() if hasattr(X, "detach") else X
    if not (is_torch(X) or hasattr(X, "__array_namespace__")):
        try:
            X = np.asarray(eager(X))  # lists, frames, and arrays of older libraries
        except ValueError as error:
            raise ValueError(
                f"{name}: expected rows of one length, got several. Pool each to as many numbers."
            ) from error
    numbers = not is_numpy_array(X) or X.dtype.kind in "biufc" or "bfloat16" in str(X.dtype)
    if not numbers or "complex" in str(X.dtype):
        raise ValueError(f"{name}: expected an array of real numbers, got dtype {X.dtype}.")
    axes, shape, xp = len(X.shape), tuple(X.shape), array_namespace(X)
    if axes not in (1, 2, 3, 4) or 0 in shape[1:]:
        raise ValueError(f"{name}: expected an array of two to four axes, got shape {shape}.")
    if axes == 1:
        X = xp.reshape(X, (-1, 1))
    elif axes > 2 and pooling == "flatten":
        X = xp.reshape(X, (shape[0], int(np.prod(shape[1:]))))
        notes.append(f"{name}: {shape} was flattened to {X.shape[1]} columns.")
    elif axes > 2:
        over = (1,) if axes == 3 else (2, 3)
        X = xp.mean(xp.astype(X, xp.float32) if _is_half(X) else X, axis=over)
        notes.append(f"{name}: {shape} was averaged over positions to {X.shape[1]} columns.")
    return X


def _is_half(X: Any) -> bool:
    return str(X.dtype).rpartition(".")[2] in ("float16", "bfloat16")


def _as_numpy(X: Any) -> Array:
    """Return an array of NumPy, of floats of single or double precision."""
    if is_torch(X):
        X = X.cpu()
        X = (X.float() if _is_half(X) else X).numpy()
    elif not is_numpy_array(X):
        try:
            X = np.asarray(X)
        except (TypeError, RuntimeError):
            X = np.from_dlpack(X)
    if X.dtype in (np.float32, np.float64):
        return np.asarray(X)
    return np.asarray(X, dtype=np.float32 if _is_half(X) else np.float64)


# ---- sums ------------------------------------------------------------------------------------


def _moments(joined: _Joined, kernel: Any, order: Any = None, fold: Any = None) -> Moments:
    """Return the moments of the kernels of all representations, of samples in an order by fold."""
    order = np.arange(joined.n) if order is None else order
    if _is_linear(kernel):
        found = zip(joined.all_names, _on_one_device(joined), strict=True)
        rows = [_Rows(name, X, order) for name, X in found]
        return _of_linear(rows, np.zeros(joined.n, dtype=int) if fold is None else fold)
    arrays = [_as_numpy(X) for X in joined.arrays]
    _note_conversion(joined)
    kernels = kernel if isinstance(kernel, list) else [_kernel_of(kernel, X) for X in arrays]
    G = Gram(kernels, tuple(X[order] for X in arrays))
    moments = G.moments(_ones(joined.n), fold=fold, cross=True)
    for name, square in zip(joined.all_names, moments.squares.diagonal(), strict=True):
        if not np.isfinite(square):
            raise ValueError(f"{name}: expected finite numbers, got NaN, infinity or an overflow.")
    return moments


def _is_linear(kernel: Any) -> bool:
    return type(kernel) is Linear or (isinstance(kernel, str) and kernel == "linear")


def _kernel_of(kernel: Any, X: Array) -> Kernel:
    if isinstance(kernel, str) and kernel in ("gaussian", "rbf"):
        return Gaussian(median_distance(X))
    return as_kernel(kernel, X)


def _on_one_device(joined: _Joined) -> list[Any]:
    """Return the arrays as they are where all are of one library and device, else of NumPy."""
    kinds = {(array_namespace(X).__name__, str(device(X))) for X in joined.arrays}
    if len(kinds) == 1 and not next(iter(kinds))[0].startswith("jax"):
        return joined.arrays
    _note_conversion(joined)
    return [_as_numpy(X) for X in joined.arrays]


def _note_conversion(joined: _Joined) -> None:
    foreign = sum(not is_numpy_array(X) for X in joined.arrays)
    if foreign:
        joined.notes.append(f"{foreign} of {len(joined.arrays)} arrays were converted to NumPy.")


def _ones(n: int) -> Target:
    return Target(np.ones((n, 1)), np.zeros((1, 1)), np.ones(1), np.ones(n), "values")


class _Rows:
    """Rows of a representation in units of its largest number, less their mean.

    Single and half precision are multiplied in single precision, everything else in double
    precision; sums are taken in double precision. The unit is a power of 2, which rounds nothing:
    products of products of numbers such as 1e-12 would be 0 in single precision.
    """

    def __init__(self, name: str, X: Any, order: Array) -> None:
        self.X, self.order, self.xp = X, order, array_namespace(X)
        single = _is_half(X) or str(X.dtype).endswith("float32")
        self.dtype = self.xp.float32 if single else self.xp.float64
        starts, n = range(0, len(order), BLOCK), len(order)
        blocks = [X[start : min(start + BLOCK, n), :] for start in starts]
        top = max(float(self.xp.max(self.xp.abs(self.doubled(part)))) for part in blocks)
        if top != 0.0 and not 1.0 / LARGEST <= top <= LARGEST:
            raise ValueError(
                f"{name}: expected finite numbers, the largest from {1.0 / LARGEST:.0e} to "
                f"{LARGEST:.0e}, got {top:.3g}. Multiply them by a constant."
            )
        self.unit = 2.0 ** int(np.frexp(top)[1])
        total = sum(self.xp.sum(self.doubled(part) / self.unit, axis=0) for part in blocks)
        self.mean = self.xp.astype(total / n, self.dtype)

    def doubled(self, X: Any) -> Any:
        """Return an array in double precision, where it lives."""
        return self.xp.astype(X, self.xp.float64, copy=False)

    def take(self, rows: slice) -> Any:
        """Return some rows in the order of the folds."""
        index = self.xp.asarray(self.order[rows], device=device(self.X))
        X = self.xp.astype(self.xp.take(self.X, index, axis=0), self.dtype)
        return X / self.unit - self.mean


def _of_linear(rows: list[_Rows], fold: Array) -> Moments:
    """Return the moments of linear kernels, by features or by tiles."""
    m, n, F = len(rows), len(fold), int(fold[-1]) + 1
    ends = np.searchsorted(fold, np.arange(F + 1)).tolist()
    cuts = [slice(*pair) for pair in pairwise(ends)]
    P, d, h, c = np.zeros((m, F, n, 1)), np.empty((m, n)), np.empty((m, n)), np.empty(m)
    for k, part in enumerate(rows):
        mean = part.doubled(part.mean)
        c[k] = float(part.xp.sum(mean * mean))
        for cut in cuts:
            X = part.doubled(part.take(cut))
            d[k, cut] = _as_numpy(part.xp.sum(X * X, axis=1))
            h[k, cut] = _as_numpy(X @ mean)
    few = sum(int(part.X.shape[1]) for part in rows) < n  # n (Σd)² by features, n² Σd by tiles
    q = (_add_features if few else _add_tiles)(rows, cuts, P[..., 0])
    u = np.array([part.unit for part in rows]) ** 2
    P, q = P * u[:, None, None, None], q * np.outer(u, u)[:, :, None, None]
    return Moments(P, d * u[:, None], q, h * u[:, None], c * u, fold, cross=True)


def _add_tiles(rows: list[_Rows], cuts: list[slice], sums: Array) -> Array:
    """Return <K_k, K_l> by folds from tiles of all kernels at once, and add up their rows."""
    m, F, xp = len(rows), len(cuts), rows[0].xp
    size = max(1, int(np.sqrt(TILES / (8 * m))))
    blocks = [
        (f, slice(start, min(start + size, cut.stop)))
        for f, cut in enumerate(cuts)
        for start in range(cut.start, cut.stop, size)
    ]
    q = np.zeros((m, m, F, F))
    for a, (f, I) in enumerate(blocks):
        left = [part.take(I) for part in rows]
        for g, J in blocks[a:]:
            tiles = []
            for k, part in enumerate(rows):
                right = left[k] if I == J else part.take(J)
                K = part.doubled(left[k] @ xp.matrix_transpose(right))
                sums[k, g, I] += _as_numpy(xp.sum(K, axis=1))
                if I != J:
                    sums[k, f, J] += _as_numpy(xp.sum(K, axis=0))
                tiles.append(xp.reshape(K, (-1,)))
            T = xp.stack(tiles)
            products = _as_numpy(T @ xp.matrix_transpose(T))
            q[:, :, f, g] += products
            if I != J:
                q[:, :, g, f] += products
    return q


def _add_features(rows: list[_Rows], cuts: list[slice], sums: Array) -> Array:
    """Return <K_k, K_l> by folds, <X_kf' X_lf, X_kg' X_lg>, and add up the rows of the kernels."""
    m, F, xp = len(rows), len(cuts), rows[0].xp
    q = np.zeros((m, m, F, F))
    for k, first in enumerate(rows):
        left = [first.take(cut) for cut in cuts]
        for g, other in enumerate(left):
            total = xp.sum(first.doubled(other), axis=0)
            for cut, part in zip(cuts, left, strict=True):
                sums[k, g, cut] = _as_numpy(first.doubled(part) @ total)
        for l in range(k, m):
            right = left if l == k else [rows[l].take(cut) for cut in cuts]
            width = int(rows[l].X.shape[1])
            for start in range(0, width, COLUMNS):
                columns = slice(start, min(start + COLUMNS, width))
                T = xp.stack(
                    [
                        xp.reshape(first.doubled(xp.matrix_transpose(a) @ b[:, columns]), (-1,))
                        for a, b in zip(left, right, strict=True)
                    ]
                )
                q[k, l] += _as_numpy(T @ xp.matrix_transpose(T))
            q[l, k] = q[k, l]
    return q


# ---- measures --------------------------------------------------------------------------------


def _products(moments: Moments, measure: str) -> Array:
    """Return <P K_k, P K_l> of all pairs, 0 for those of a kernel that is constant but rounding."""
    G = kernel_products(moments, _ones(moments.d.shape[1]), PROJECTIONS[measure])
    flat = G.diagonal() <= FLAT * moments.squares.diagonal()
    G[flat], G[:, flat] = 0.0, 0.0
    return G


def _values(G: Array, measure: str, n: int) -> Array:
    if measure == "hsic":
        return G / (n - 1.0) ** 2
    if measure == "hsic_unbiased":
        return G / (n * (n - 3.0))
    norms = np.sqrt(np.maximum(G.diagonal(), 0.0))
    scale = np.where(norms > 0, norms, np.inf)  # 0 where a kernel does not vary
    values = G / scale[:, None] / scale
    np.fill_diagonal(values, (norms > 0).astype(float))
    return values


# ---- batches ---------------------------------------------------------------------------------


def _is_stream(layers: Any) -> bool:
    known = isinstance(layers, Mapping | list | tuple) or hasattr(layers, "shape")
    return isinstance(layers, Iterable) and not known


def _over_batches(
    layers: Any, others: Any, measure: str, kernel: Any, pooling: str
) -> RepresentationMatrix:
    """Return the measure from sums over batches, with the jackknife over batches."""
    if PROJECTIONS[measure] != "debiased":
        raise ValueError(
            f'Expected measure "cka_debiased" or "hsic_unbiased" for batches, got {measure!r}: the '
            "others depend on the size of the batches."
        )
    if others is not None and not _is_stream(others):
        raise TypeError(
            "Expected batches of other representations beside those of layers, got "
            f"{abridged(others)}. Pass an iterator of dicts or lists of arrays."
        )
    products: list[Array] = []
    first: _Joined | None = None
    size, short = 0, False
    for batch, beside in zip_longest(layers, others or ()):
        if others is not None and (batch is None or beside is None):
            raise ValueError("Expected as many batches of others as of layers, got fewer of one.")
        joined = _Joined.of(batch, beside, pooling)
        if first is None:
            first, size = joined, joined.n
            if size < LEAST:
                raise ValueError(f"Expected batches of at least {LEAST} rows, got {size}.")
            if not _is_linear(kernel):  # one width for all batches
                kernel = [_kernel_of(kernel, _as_numpy(X)) for X in joined.arrays]
        if joined.all_names != first.all_names:
            raise ValueError("Expected the same representations in every batch, got others.")
        if joined.n > size or short:
            raise ValueError(
                f"Expected batches of {size} rows, of which the last may have fewer, got "
                f"{joined.n}. Make them equal."
            )
        if joined.n < size:
            short = True
            first.notes.append(
                f"The last batch, of {joined.n} rows instead of {size}, is left out."
            )
            continue
        products.append(_products(_moments(joined, kernel), measure))
    if first is None:
        raise ValueError("Expected at least one batch, got none.")
    count = len(products)
    groups = [products[f :: min(count, 2 * FOLDS)] for f in range(min(count, 2 * FOLDS))]
    total = np.sum(products, axis=0)
    sums = [(total, count)]
    if count > 1:
        sums += [(total - np.sum(group, axis=0), count - len(group)) for group in groups]
    values = [_values(G / number, measure, size) for G, number in sums]
    return first.result(measure, values, n=count * size)

"""Do two samples differ, and do two variables depend on each other: tests with kernels.

Both take several bandwidths and shuffle the samples. For bandwidth λ and shuffle b (0 is the data)
with statistic s_λb, the rank p_λb is the share of shuffles whose statistic is as large;
T_b = min_λ p_λb, and the p-value is the share of shuffles with T_b <= T_0. That is exact for any
statistic, any choice of kernels that does not see which row belongs where, and any number of
shuffles.

Of many rows the kernels are replaced by features of landmarks, drawn without a look at the labels,
and the same statistics are taken of U U'.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state

from gramsmith.arguments import abridged, counted
from gramsmith.evaluation.path import sampled_distances
from gramsmith.evaluation.permutations import (
    check_permutations,
    least_ranks,
    shuffled_blocks,
    shuffled_orders,
    without_rounding,
)
from gramsmith.gram import Gram, Views, as_views
from gramsmith.kernels import Gaussian, Kernel, Normalized, Precomputed, Spectrum
from gramsmith.kernels.finite import as_rows, eager
from gramsmith.kernels.landmarks import inverse_root
from gramsmith.kernels.precomputed import check_kernel_matrix
from gramsmith.report.results import draw_null
from gramsmith.targets import check_groups

Array = npt.NDArray[Any]

LEVEL = 0.05  # p-values up to which a sentence says that something was found
WIDTHS = 7  # Gaussians of a two-sample test
PAIRED_WIDTHS = 4  # and of each side of a test of independence, whose pairs are all tried
LETTERS = (1, 2, 3, 4)  # lengths of the substrings that kernels of texts count
ROWS = 2000  # past which two samples are compared by landmarks: n² values of 7 kernels take seconds
PAIRED_ROWS = 1000  # past which dependence is: every shuffle costs n² for each pair of kernels
LANDMARKS = 200
COLUMN_WIDTHS = 3  # Gaussians of a column that is one of many: narrow, middle and wide
COLUMN_LANDMARKS = 50  # of a column: it has few directions
# Multiplications that all shuffles of a test of independence may take, half a minute: landmarks
# become fewer for it. n (r PAIRED_WIDTHS)² for each shuffle, if every landmark is a direction.
WORK = 1e12
SMALL = 1e-6  # share of the largest variance below which a direction of features is left out
BLOCK = 4096  # rows whose features are held at a time


@dataclass(frozen=True)
class KernelTest:
    """The result of a permutation test with kernels.

    Parameters
    ----------
    statistic : float
        With one kernel, the unbiased squared MMD, or HSIC. With several, -log10 of the smallest
        p-value that any one of them has by itself, not adjusted for their number.
    pvalue : float
        The share of shuffles, the data among them, whose statistic is as large.
    null_distribution : array of shape (n_permutations,)
        The statistic of every shuffle.
    effect_size : float
        The largest of all kernels, so that no shuffle chooses it; `random_state` matters where it
        draws rows. Two samples: the distance of their means in units of the standard deviation
        within samples, in feature space (for one column and a linear kernel Cohen's d).
        Independence: the debiased CKA of the two sides. 0 is no effect, chance gives a little more.
    kernels : dict of name -> (value, pvalue)
        MMD² or HSIC of every kernel, and its p-value adjusted for all of them; that of the largest
        effect first.
    n : int
        Number of samples.
    question : {"two samples", "independence"}
    landmarks : int, default=0
        From how many landmarks the kernels were computed; 0 for all samples.

    Attributes
    ----------
    telling : list of str
        The kernels whose adjusted p-value is at most .05, the smallest first.

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> x = np.random.default_rng(0).normal(size=60)
    >>> result = gs.independence_test(x, x**2, n_permutations=99, random_state=0)
    >>> result.pvalue
    0.01
    """

    statistic: float
    pvalue: float
    null_distribution: Array = field(repr=False)
    effect_size: float
    kernels: dict[str, tuple[float, float]]
    n: int
    question: str
    landmarks: int = 0

    @property
    def telling(self) -> list[str]:
        """The kernels whose adjusted p-value is at most .05, the smallest first."""
        return [name for name, (_, p) in self.kernels.items() if p <= LEVEL]

    def __str__(self) -> str:
        two = self.question == "two samples"
        if self.pvalue <= LEVEL:
            found = "The two samples differ" if two else "The two variables depend on each other"
        else:
            found = "No difference was found" if two else "No dependence was found"
        effect = "standard deviations apart in feature space" if two else "debiased CKA"
        told = f", by {next(iter(self.kernels))}" if self.pvalue <= LEVEL else ""
        near = f" Kernels were computed from {self.landmarks} landmarks." if self.landmarks else ""
        return (
            f"{found} (p = {self.pvalue:.3g} from {len(self.null_distribution)} shuffles of "
            f"{counted(self.n, 'row')}; {self.effect_size:.2g} {effect}{told}).{near}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(str(self))}</p>"

    def plot(self, ax: Any = None) -> Any:
        """Draw the statistic among those of the shuffles.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; default a new figure.

        Returns
        -------
        matplotlib axes
        """
        name = "MMD²" if self.question == "two samples" else "HSIC"
        label = name if len(self.kernels) == 1 else "-log10 of the smallest p-value of a kernel"
        return draw_null(self.null_distribution, self.statistic, self.pvalue, label, ax)


def two_sample_test(
    X: Any,
    Y: Any,
    kernel: Any = "auto",
    n_permutations: int = 500,
    groups: Any = None,
    random_state: Any = None,
) -> KernelTest:
    r"""Test whether two samples come from one distribution, by the maximum mean discrepancy.

    .. math:: MMD^2 = \overline{k(x, x')} + \overline{k(y, y')} - 2\,\overline{k(x, y)}

    over different x, x' and y, y'. Several bandwidths are tried and their smallest p-value is
    compared with that of shuffled samples, so that none has to be chosen and the level holds.

    Parameters
    ----------
    X, Y : arrays of shape (m, p) and (n, p), or sequences of m and n objects
        The samples. With ``kernel="precomputed"``, X is the kernel matrix of both samples together
        and Y says of every row to which it belongs.
    kernel : "auto", kernel, list or dict of kernels, or "precomputed", default="auto"
        "auto": 7 Gaussians from half the 5 % quantile of all distances to twice the 95 % quantile;
        for texts, normalised spectra of 1 to 4 letters. Scale columns of different units before.
    n_permutations : int, default=500
        Number of shuffles; the smallest p-value is 1 / (n_permutations + 1).
    groups : array of shape (m + n,), or a pair of arrays of shapes (m,) and (n,), optional
        Rows of one group, such as visits of a patient, change sides together. A group must lie in
        one sample. The level holds for independent rows or, with groups, independent groups.
    random_state : int or RandomState, optional
        Decides the shuffles and, past 1 000 rows, the bandwidths, past 2 000 the 200 landmarks.

    Returns
    -------
    KernelTest
        With `statistic`, `pvalue`, `null_distribution`, `effect_size`, `kernels` and `plot`.

    See Also
    --------
    drift_test : Two tables, also with categories, dates and missing values, column by column.

    References
    ----------
    Gretton et al.: A kernel two-sample test (2012).
    Schrab et al.: MMD aggregated two-sample test (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(80, 2)), 1.8 * rng.normal(size=(80, 2))
    >>> gs.two_sample_test(X, Y, random_state=0).pvalue < 0.01
    True
    """
    count, rng = check_permutations(n_permutations, 1), check_random_state(random_state)
    if _is_given(kernel):
        Z = check_kernel_matrix(X, psd="ignore")
        in_first = _sides_of_rows(Y, len(Z))
    else:
        first, second = _as_samples(X), _as_samples(Y)
        Z = _pooled(first, second)
        in_first = np.arange(_length(Z)) < _length(first)
    n, m = len(in_first), int(in_first.sum())
    if min(m, n - m) < 2:
        raise ValueError(f"Expected at least 2 rows in each sample, got {m} and {n - m}.")
    sides = _shuffled_sides(in_first, count, rng, pooled_groups(groups, in_first))
    landmarks = _drawn(n, LANDMARKS, rng) if n > ROWS else None
    return _compared(_candidates(kernel, Z, rng, WIDTHS), sides, landmarks)


def _shuffled_sides(in_first: Array, count: int, rng: Any, groups: Array) -> Array:
    """Return which rows are in the first sample: as given, then in every shuffle."""
    sides = np.empty((len(in_first), count + 1), dtype=bool)
    sides[:, 0] = in_first
    for b, order in enumerate(shuffled_orders(len(in_first), count, rng, groups), start=1):
        sides[:, b] = in_first[order]
    return sides


def _compared(views: Views, sides: Array, landmarks: Array | None) -> KernelTest:
    """Return the test of two samples by some kernels."""
    found = [_mmd(Gram(views.part(k)), sides, landmarks) for k in range(len(views))]
    values = np.column_stack([value for value, _ in found])
    variances = [variance for _, variance in found]
    effects = [_ratio(np.sqrt(max(v, 0.0)), s) for v, s in zip(values[0], variances, strict=True)]
    return _result("two samples", list(views.names), values, effects, len(sides), landmarks)


def compare_columns(
    Z: Array, in_first: Array, columns: Sequence[Array], count: int, rng: Any, groups: Array
) -> list[KernelTest]:
    """Test for each of several sets of columns whether two samples differ, all by one shuffle.

    `in_first` says which rows of Z are the first sample. There may be many sets: few kernels each.
    """
    sides = _shuffled_sides(in_first, count, rng, groups)
    landmarks = _drawn(len(Z), COLUMN_LANDMARKS, rng) if len(Z) > 4 * COLUMN_LANDMARKS else None
    return [
        _compared(_candidates("auto", Z[:, own], rng, COLUMN_WIDTHS), sides, landmarks)
        for own in columns
    ]


def independence_test(
    X: Any,
    Y: Any,
    kernel: Any = "auto",
    n_permutations: int = 500,
    groups: Any = None,
    random_state: Any = None,
) -> KernelTest:
    r"""Test whether two variables, seen on the same samples, are independent, by HSIC.

    .. math:: HSIC = \langle UK, UL\rangle / n(n - 3)

    with U-centring, for every pair of a kernel of X and a kernel of Y. The smallest of their
    p-values is compared with that of shuffled samples, so that no bandwidth has to be chosen.

    Parameters
    ----------
    X, Y : arrays of shape (n, p) and (n, q) or (n,), or sequences of n objects
        The two variables. With ``kernel="precomputed"``, their kernel matrices.
    kernel : "auto", or a pair (kernel of X, kernel of Y), or one kernel for both, default="auto"
        Each is what `two_sample_test` takes; "auto" has 4 Gaussians on each side.
    n_permutations : int, default=500
        Number of shuffles; the smallest p-value is 1 / (n_permutations + 1).
    groups : array of shape (n,), optional
        Samples of one group stay together, in their order: groups of the same size change places.
    random_state : int or RandomState, optional
        Decides the shuffles and, past 1 000 rows, the landmarks (200, of many rows fewer, so that
        500 shuffles take half a minute at most).

    Returns
    -------
    KernelTest
        With `statistic`, `pvalue`, `null_distribution`, `effect_size`, `kernels` and `plot`.

    References
    ----------
    Gretton et al.: A kernel statistical test of independence (2007).
    Song et al.: Feature selection via dependence maximization (2012).

    Examples
    --------
    >>> import numpy as np
    >>> import gramsmith as gs
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> print(gs.independence_test(x, rng.normal(size=100), random_state=0))
    No dependence was found (p = 0.625 from 500 shuffles of 100 rows; 0.015 debiased CKA).
    """
    count, rng = check_permutations(n_permutations, 1), check_random_state(random_state)
    pair = kernel if isinstance(kernel, tuple) and len(kernel) == 2 else (kernel, kernel)
    samples = [
        check_kernel_matrix(side, psd="ignore") if _is_given(own) else _as_samples(side)
        for own, side in zip(pair, (X, Y), strict=True)
    ]
    n, other = map(_length, samples)
    if n != other:
        raise ValueError(
            f"Expected X and Y of the same samples, got {n} and {other} rows. To ask whether two "
            "samples differ use two_sample_test."
        )
    if n < 4:
        raise ValueError(f"Expected at least 4 samples, got {n}. Add samples.")
    together = check_groups(groups, n)
    sides = [_candidates(own, Z, rng, PAIRED_WIDTHS) for own, Z in zip(pair, samples, strict=True)]
    orders = shuffled_blocks(n, count, rng, together)
    if n > PAIRED_ROWS:
        size = int(np.sqrt(WORK / (2.0 * n * count * len(sides[0]) * len(sides[1]))))
        landmarks = _drawn(n, min(max(size, 10), LANDMARKS), rng)
        first, second = (_Features(side, landmarks) for side in sides)
        values, norms = _hsic(first, second, orders, n)
    else:
        landmarks = None
        one, two = (_Matrices(side) for side in sides)
        values, norms = _hsic(one, two, orders, n)
    effects = [_ratio(v, s) for v, s in zip(values[0], norms, strict=True)]
    names = [f"{kx}, {ky}" for kx in sides[0].names for ky in sides[1].names]
    return _result("independence", names, values / (n * (n - 3.0)), effects, n, landmarks)


# ---- samples and kernels ---------------------------------------------------------------------


def _as_samples(X: Any) -> Any:
    """Return samples as rows of numbers, one column where there is one axis, or a list."""
    X = eager(X)
    if sp.issparse(X):
        return as_rows(X)
    try:
        values = np.asarray(X)
    except ValueError:  # lists of several lengths, such as sequences of numbers
        return list(X)
    if values.ndim == 1 and values.dtype.kind not in "biuf":
        return list(X)
    return as_rows(values[:, None] if values.ndim == 1 else X)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _pooled(X: Any, Y: Any) -> Any:
    """Return the rows of X, then those of Y."""
    if isinstance(X, list) != isinstance(Y, list):
        raise ValueError("Expected two samples of one kind, got rows of numbers and objects.")
    if isinstance(X, list):
        return [*X, *Y]
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"Expected two samples with the same columns, got {X.shape[1]} and {Y.shape[1]}. To "
            "ask whether two variables depend on each other use independence_test."
        )
    if sp.issparse(X) or sp.issparse(Y):
        return sp.csr_array(sp.vstack([sp.csr_array(X), sp.csr_array(Y)]))
    return np.concatenate([X, Y])


def _sides_of_rows(labels: Any, n: int) -> Array:
    """Return which rows of a matrix are in the first of two samples, by their labels."""
    values, codes = np.unique(np.asarray(labels), return_inverse=True)
    if codes.shape != (n,) or len(values) != 2:
        raise ValueError(
            f"Expected a label for each of the {n} rows of the matrix, two different ones, as Y, "
            f"got {abridged(labels)}."
        )
    return np.asarray(codes == 0)


def _is_given(kernel: Any) -> bool:
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def pooled_groups(groups: Any, in_first: Array) -> Array:
    """Return the group of every row, itself without groups; raise for one in both samples."""
    if isinstance(groups, tuple | list) and len(groups) == 2 and np.ndim(groups[0]) == 1:
        groups = np.concatenate([np.asarray(part) for part in groups])
    units = check_groups(groups, len(in_first))
    units = np.arange(len(in_first)) if units is None else units
    first, second = (np.unique(units[side]) for side in (in_first, ~in_first))
    both = np.intersect1d(first, second).tolist()
    if both:
        raise ValueError(
            f"Expected each group in one of the two samples, got group {both[0]!r} in both. "
            "Keep its rows of one sample, or compare the two means of every group, as by "
            "scipy.stats.wilcoxon. Without groups p would be that of independent rows."
        )
    total, m = len(first) + len(second), len(first)
    ways = comb(total, m) if total * LEVEL < 1.0 else 2 * total  # enough
    ways //= 1 + (total == 2 * m)  # halves that are swapped have the same statistic
    if ways * LEVEL < 1.0:
        warnings.warn(
            f"Too few rows or groups to find anything: shuffles share {total} between the samples "
            f"in {ways} ways that differ, so that p is about {1.0 / ways:.2g} at least.",
            UserWarning,
            stacklevel=3,
        )
    return units


def _candidates(kernel: Any, Z: Any, rng: Any, widths: int) -> Views:
    """Return the kernels of a test with their samples."""
    chosen: Any = kernel
    if isinstance(kernel, str) and kernel == "auto":
        chosen = _texts(Z) if isinstance(Z, list) else _gaussians(Z, rng, widths)
    views = as_views(chosen, Z)
    sizes = [_length(samples) for samples in views.samples]
    if set(sizes) != {_length(Z)}:
        raise ValueError(
            f"Expected kernel matrices of all {_length(Z)} samples, got one of "
            f"{next(size for size in sizes if size != _length(Z))}."
        )
    return views


def _gaussians(Z: Any, rng: Any, widths: int) -> list[Kernel]:
    """Return Gaussians from finer than near neighbours to wider than the whole."""
    with np.errstate(over="ignore", invalid="ignore"):
        distances = sampled_distances(Z, random_state=rng)
    if not np.isfinite(distances).all():
        raise ValueError("Expected samples at finite distances, got an overflow. Scale them.")
    low, high = np.quantile(distances, [0.05, 0.95]) if len(distances) else (1.0, 1.0)
    return [Gaussian(float(length)) for length in np.geomspace(0.5 * low, 2.0 * high, widths)]


def _texts(Z: list[Any]) -> list[Kernel]:
    if not all(isinstance(text, str) for text in Z):
        raise TypeError(
            'Expected rows of numbers or texts for kernel="auto", got '
            f"{type(next(z for z in Z if not isinstance(z, str))).__name__}. Pass a kernel of "
            "such objects."
        )
    return [Normalized(Spectrum(k)) for k in LETTERS]


def _drawn(n: int, size: int, rng: Any) -> Array:
    return np.sort(rng.permutation(n)[:size])


def _features(G: Gram, landmarks: Array) -> Iterator[tuple[slice, Array]]:
    """Yield parts of the rows with their features U, where U U' stands for the kernel matrix."""
    root = inverse_root(G.block(landmarks, landmarks))
    for start in range(0, G.n, BLOCK):
        rows = slice(start, start + BLOCK)
        yield rows, G.block(rows, landmarks) @ root


# ---- the statistics --------------------------------------------------------------------------


def _mmd(G: Gram, sides: Array, landmarks: Array | None) -> tuple[Array, float]:
    """Return the unbiased squared MMD of every column of `sides`, and the deviation within.

    From α = u'K°u, c = u'K°1 and S = 1'K°1 of the hollow matrix K°.
    """
    m = sides.sum(axis=0, dtype=np.float64)
    n = len(sides) - m
    own = G.diagonal()
    if landmarks is None:
        K = G.toarray().astype(np.float64)
        np.fill_diagonal(K, 0.0)
        Ku = K @ sides.astype(np.float64)
        alpha, c, S = np.einsum("ib,ib->b", sides, Ku), Ku.sum(axis=0), float(K.sum())
    else:
        Uu: Any = 0.0
        total, diagonal, trace = Uu, Uu, Uu
        for rows, U in _features(G, landmarks):
            u, lengths = sides[rows].astype(np.float64), np.einsum("ij,ij->i", U, U)
            Uu, total = Uu + U.T @ u, total + U.sum(axis=0)
            diagonal, trace = diagonal + lengths @ u, trace + float(lengths.sum())
        alpha = np.einsum("rb,rb->b", Uu, Uu) - diagonal
        c, S = total @ Uu - diagonal, float(total @ total) - trace
    with np.errstate(divide="ignore", invalid="ignore"):  # groups may leave a side with one row
        inner, outer = alpha / (m * (m - 1.0)), (S - 2.0 * c + alpha) / (n * (n - 1.0))
        values = inner + outer - 2.0 * (c - alpha) / (m * n)
    # tr Cov of a sample: the mean of its diagonal less that of its other entries
    first, second = own[sides[:, 0]].mean() - inner[0], own[~sides[:, 0]].mean() - outer[0]
    pooled = ((m[0] - 1.0) * first + (n[0] - 1.0) * second) / (len(sides) - 2.0)
    values = without_rounding(values, float(np.abs(own).max()))
    return np.where(np.isfinite(values), values, -np.inf), float(np.sqrt(max(pooled, 0.0)))


def _hsic(first: Any, second: Any, orders: Iterable[Array], n: int) -> tuple[Array, list[float]]:
    """Return <UK, UL> of all pairs of kernels, as given and for every order of L; |UK| |UL|."""
    values = [first.inner(second, order).ravel() for order in chain([np.arange(n)], orders)]
    squares = [np.diagonal(side.inner(side, np.arange(n))) for side in (first, second)]
    norms = np.sqrt(np.maximum(np.outer(*squares), 0.0))
    return np.array(values), norms.ravel().tolist()


class _Matrices:
    """U-centred kernel matrices of one variable, their entries as rows of numbers."""

    def __init__(self, views: Views) -> None:
        K = [Gram(views.part(k)).toarray().astype(np.float64) for k in range(len(views))]
        self.entries = np.column_stack([_u_centred(matrix).ravel() for matrix in K])

    def inner(self, other: _Matrices, order: Array) -> Array:
        """Return <UK, UL> for all pairs of kernels, the rows of the other side in an order."""
        # all kernels of a pair of samples move together
        moved = other.entries.take((order[:, None] * len(order) + order).ravel(), axis=0)
        return np.asarray(self.entries.T @ moved)


def _u_centred(K: Array) -> Array:
    n = len(K)
    np.fill_diagonal(K, 0.0)
    rows = K.sum(axis=0)
    centred = K - (rows[:, None] + rows) / (n - 2.0) + rows.sum() / ((n - 1.0) * (n - 2.0))
    np.fill_diagonal(centred, 0.0)
    return without_rounding(centred, float(np.abs(K).max()))


class _Features:
    """Centred features of the kernels of one variable side by side, and |u_i|² of each kernel."""

    def __init__(self, views: Views, landmarks: Array) -> None:
        parts = []
        for k in range(len(views)):
            U = np.vstack([U for _, U in _features(Gram(views.part(k)), landmarks)])
            U -= U.mean(axis=0)
            # a wide kernel of few columns has few directions: 4 of 200 landmarks, not all
            values, vectors = np.linalg.eigh(U.T @ U)
            parts.append(U @ vectors[:, values >= SMALL * values[-1]])
        self.U = np.hstack(parts)
        self.starts = np.cumsum([0, *(U.shape[1] for U in parts[:-1])])
        self.lengths = np.add.reduceat(self.U**2, self.starts, axis=1)

    def inner(self, other: _Features, order: Array) -> Array:
        """Return <UK, UL> for all pairs of kernels, the rows of the other side in an order."""
        n, scatter = len(self.U), np.zeros((self.U.shape[1], other.U.shape[1]))
        for start in range(0, n, BLOCK):
            rows = slice(start, start + BLOCK)
            scatter += self.U[rows].T @ other.U[order[rows]]
        squares = np.add.reduceat(scatter**2, self.starts, axis=0)
        squares = np.add.reduceat(squares, other.starts, axis=1)
        d, e = self.lengths, other.lengths
        # rows of centred features sum to 0, those without the diagonal to its negative
        hollow = (1.0 + 2.0 / (n - 2.0)) * (d.T @ e[order])
        totals = np.outer(d.sum(axis=0), e.sum(axis=0)) / ((n - 1.0) * (n - 2.0))
        return np.asarray(squares - hollow + totals)


def _ratio(value: float, unit: float) -> float:
    return float(value / unit) if unit > 0 else 0.0


def _result(
    question: str,
    names: list[str],
    values: Array,
    effects: list[float],
    n: int,
    landmarks: Array | None,
) -> KernelTest:
    least, adjusted = least_ranks(values)
    statistics = values[:, 0] if len(names) == 1 else -np.log10(least / len(least))
    order = sorted(range(len(names)), key=lambda k: -effects[k])
    return KernelTest(
        float(statistics[0]),
        float((least <= least[0]).mean()),
        statistics[1:],
        effects[order[0]],
        {names[k]: (float(values[0, k]), float(adjusted[k])) for k in order},
        n,
        question,
        0 if landmarks is None else len(landmarks),
    )

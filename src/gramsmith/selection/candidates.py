"""Candidates: the kernels that are compared: by default, named by the user, or learned."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid

from gramsmith import kernels as gk
from gramsmith.gram.views import take_rows, unique_names
from gramsmith.kernels import as_kernel, check_kernel_matrix
from gramsmith.kernels.base import Kernel
from gramsmith.kernels.finite import count_samples
from gramsmith.learning import TransformLearner
from gramsmith.measures.base import Undefined
from gramsmith.report.words import number
from gramsmith.selection.task import Task

Array = npt.NDArray[Any]

GAUSSIAN_STEPS = range(-6, 6)  # powers of two of gamma around 1 / median squared distance
LAPLACIAN_STEPS = range(-4, 4)
MATERN_STEPS = range(-3, 6, 2)
LETTERS = (
    8  # symbols from which a single one, and a pair, tell something: proteins and text, not DNA
)
COUNTED = 8  # columns from which rows of counts are taken for sets: fewer are measurements
ZEROS = 0.2  # of the cells are zero, at least: what two rows have in common is then the rest
SHARES = {"1": 1, "2": 2, "1 to 3": (1, 3)}  # lengths of substrings whose shares are compared
CLIMB = 12  # steps, at most, in which feature weights are learned
# other encodings of a table, as the names of their kernels end
ONE_HOT, POWERS = "one-hot numbers", "power transform"
UNSCALED = "unscaled"  # numbers as they are, for kernels of non-negative values


@dataclass(frozen=True)
class Candidate:
    """A kernel that is compared with others."""

    name: str  # unique, for people
    kernel: Kernel
    family: str  # candidates of one family differ by their parameters only
    step: float | None = None  # on the family's path: log2 of gamma relative to the median distance
    view: int = 0  # which view of the samples the kernel sees


def default_candidates(X: Any, *, view: int = 0, random_state: Any = 0) -> list[Candidate]:
    """Return the kernels that are tried when the user names none, for one view.

    For vectors: linear, polynomials of degree 2 and 3, paths of Gaussians, Laplacians and Matérn
    kernels around the median distance. For strings: spectrum, mismatch and weighted-degree kernels,
    normalised; of eight symbols and more, Gaussians of spectra.
    """
    if not (hasattr(X, "shape") and len(X.shape) == 2):
        return string_candidates(list(X), view=view, random_state=random_state)
    euclidean, city = median_distances(X, random_state)
    p = X.shape[1]
    candidates = [Candidate("linear", gk.Linear(), "linear", None, view)]
    for degree in (2, 3):
        kernel = gk.Polynomial(degree, 1.0 / p, 1.0)
        candidates.append(
            Candidate(f"polynomial degree {degree}", kernel, "polynomial", degree, view)
        )
    for j in GAUSSIAN_STEPS:
        # exp(-2^j D / median): gamma doubles, so that one exponential serves the path
        kernel = gk.Gaussian(float(euclidean / np.sqrt(2.0) / np.sqrt(2.0) ** j))
        candidates.append(_radial("gaussian", kernel, j, view))
    if not sp.issparse(X):
        for j in LAPLACIAN_STEPS:
            candidates.append(_radial("laplacian", gk.Laplacian(float(city / 2.0**j)), j, view))
    for j in MATERN_STEPS:
        candidates.append(
            _radial("matern", gk.Matern(float(euclidean / 2.0 ** (j / 2)), 1.5), j, view)
        )
    if sp.issparse(X) and are_counts(X):
        candidates.append(Candidate("Tanimoto", gk.Tanimoto(), "tanimoto", None, view))
    return candidates


def are_counts(X: Any) -> bool:
    """Return whether rows are sets or counts: whole multiples of a unit, many of them zero."""
    values = X.data if sp.issparse(X) else X.ravel()
    values = values[values != 0.0]
    if X.shape[1] < COUNTED or not len(values) or len(values) > (1.0 - ZEROS) * np.prod(X.shape):
        return False
    units = values / values.min()
    return bool(values.min() > 0 and np.allclose(units, np.round(units), rtol=0.0, atol=1e-9))


def mixed_candidates(blocks: Sequence[int]) -> list[Candidate]:
    """Return kernels that compare the columns of a table one by one."""
    return [
        Candidate(f"mixed width {scale:g}", gk.Mixed(list(blocks), scale), "mixed", float(step), 0)
        for step, scale in enumerate((2.0, 1.0, 0.5))
    ]


def variant_candidates(X: Any, view: int, word: str, random_state: Any = 0) -> list[Candidate]:
    """Return the kernels for another encoding of a table.

    In "one-hot numbers" few-valued columns are indicators, equal or not; in "power transform"
    skewed columns have gone through a power; "unscaled" ones are as they were.
    """
    if word == UNSCALED:
        return [Candidate("Tanimoto", gk.Tanimoto(), "tanimoto", None, view)]
    wide = ("gaussian",) if word == ONE_HOT else ("gaussian", "matern")
    plain = ("linear", "polynomial") if word == ONE_HOT else ("linear",)
    least = min(GAUSSIAN_STEPS) if word == ONE_HOT else -4
    return [
        replace(c, name=f"{c.name}, {word}", family=f"{c.family}, {word}")
        for c in default_candidates(X, view=view, random_state=random_state)
        if c.family in plain or (c.family in wide and least <= (c.step or 0) <= 2)
    ]


def _radial(family: str, kernel: Kernel, step: float, view: int) -> Candidate:
    title = {"gaussian": "Gaussian", "laplacian": "Laplacian", "matern": "Matérn 3/2"}[family]
    width = number(float(kernel.length_scale))
    return Candidate(f"{title} width {width}", kernel, family, step, view)


def string_candidates(X: list[Any], *, view: int = 0, random_state: Any = 0) -> list[Candidate]:
    """Return kernels of strings: substrings of several lengths, with and without mismatches.

    Where there are many symbols, also Gaussians of the distance between the shares of short
    substrings, at the median distance: how often each letter occurs matters, not in proportion.
    """
    if not all(isinstance(x, str) for x in X):
        odd = next(type(x).__name__ for x in X if not isinstance(x, str))
        raise TypeError(
            f"Expected a table of numbers or a list of strings, got a sample of type {odd}. "
            "Pass kernels= with a kernel for such samples."
        )
    shortest = min(map(len, X), default=0)
    symbols = len(set("".join(X[:200])))
    candidates = []
    for k in (1, 2, 3, 4, 5, 6):
        if k <= max(shortest, 2):
            kernel = gk.Normalized(gk.Spectrum(k))
            candidates.append(Candidate(f"spectrum {k}", kernel, "spectrum", k, view))
    for k in (4, 5):
        if k <= shortest and symbols <= 30:
            kernel = gk.Normalized(gk.Mismatch(k, 1))
            name = f"spectrum {k}, 1 mismatch"
            candidates.append(Candidate(name, kernel, "mismatch", k, view))
    if shortest and len({len(x) for x in X}) == 1:
        for degree in (4, 8):
            if degree <= shortest:
                kernel = gk.Normalized(gk.WeightedDegree(degree))
                name = f"weighted degree {degree}"
                candidates.append(Candidate(name, kernel, "weighted degree", degree, view))
    if symbols >= LETTERS:
        some = [X[i] for i in _drawn(len(X), random_state, 200)]
        for name, lengths in SHARES.items():
            kernel = gk.Normalized(gk.Spectrum(lengths))
            cosine = np.round(kernel(some)[np.triu_indices(len(some), 1)], 9)  # 1 of equal strings
            width = float(np.sqrt(_median(1.0 - cosine)))
            name = f"Gaussian of spectrum {name}"
            kernel = gk.GaussianOf(kernel, width)
            candidates.append(Candidate(name, kernel, "gaussian of spectra", None, view))
    return candidates


def named_candidates(
    kernels: Any,
    views: tuple[Any, ...],
    random_state: Any = 0,
    *,
    variants: Sequence[str] = (),
    unscaled: Mapping[int, int] | None = None,
    blocks: Sequence[int] | None = None,
    rows: Array | None = None,
) -> tuple[list[Candidate], tuple[Any, ...]]:
    """Return the candidates a user asked for, see `rank_kernels`, and the views they need.

    "auto" in a list adds the default candidates. With several views, a list of one kernel per view,
    or "auto" for the defaults on each; `variants` say how views differ that are encodings of one
    table, `blocks` which block of it each feature is in. A kernel of non-negative values is given
    the view that `unscaled` says has the numbers of its own as they are. Matrices among the
    kernels are appended to the views. Rows that count decide about widths.
    """
    unscaled = unscaled or {}
    seen = views if rows is None else tuple(take_rows(X, rows) for X in views)
    if isinstance(kernels, str) and kernels == "auto":
        if any(variants) or blocks is not None:
            candidates = default_candidates(seen[0], random_state=random_state)
            candidates += [] if blocks is None else mixed_candidates(blocks)
            for v, word in enumerate(variants):
                candidates += variant_candidates(seen[v], v, word, random_state) if word else []
            return candidates, views
        candidates = [
            c for v, X in enumerate(seen) for c in _defaults_of_view(X, v, views, random_state)
        ]
        return candidates, views
    if isinstance(kernels, Mapping):
        items: list[tuple[str | None, Any]] = [(str(name), k) for name, k in kernels.items()]
    elif isinstance(kernels, (list, tuple)) and not _is_grid(kernels):
        items = [(None, k) for k in kernels]
    else:
        items = [(None, kernels)]
    if not items or kernels is None:
        raise ValueError('Expected at least one kernel, got none. Use kernels="auto".')
    given = len(views) - len(unscaled)  # the views of the user, which come first
    per_view = given > 1
    if per_view and len(items) != given:
        raise ValueError(
            f"Expected one kernel per view ({given}), got {len(items)} kernels. "
            'Name one for each view, or use kernels="auto".'
        )
    candidates = []
    for i, (name, kernel) in enumerate(items):
        view = i if per_view else 0
        if isinstance(kernel, str) and kernel == "auto":
            candidates += _defaults_of_view(seen[view], view, views[:given], random_state)
        elif is_matrix(kernel):
            K = check_kernel_matrix(np.asarray(kernel), psd="ignore")  # `read` warns
            n = count_samples(views[0])
            if len(K) != n:
                raise ValueError(f"Expected a matrix of {n} samples, got shape {K.shape}.")
            label = name or f"matrix {i}"
            candidates.append(Candidate(label, gk.Precomputed(), label, None, len(views)))
            views = (*views, K)
        elif _is_grid(kernel):
            candidates += _grid(name, *kernel, view=view, X=seen[view])
        else:
            resolved = clone(as_kernel(kernel, seen[view]))
            label = name or (kernel if isinstance(kernel, str) else resolved.formula())
            candidates.append(Candidate(label, resolved, label, None, view))
    names = unique_names([c.name for c in candidates])
    return [
        replace(c, name=name, view=_view_of(c, unscaled))
        for c, name in zip(candidates, names, strict=True)
    ], views


def _view_of(candidate: Candidate, unscaled: Mapping[int, int]) -> int:
    view = candidate.view
    return unscaled.get(view, view) if asks_for_counts(candidate.kernel) else view


def asks_for_counts(kernel: Any) -> bool:
    """Return whether a kernel takes non-negative values alone, of all columns or of some."""
    if kernel.requires_nonnegative_input:
        return True
    if isinstance(kernel, gk.Composed) and not isinstance(
        kernel.map, gk.TakeColumns | gk.ByFeatureCount
    ):
        return False  # what another map makes of the columns may be anything
    return any(asks_for_counts(child) for child in kernel.children().values())


def _defaults_of_view(X: Any, view: int, views: tuple[Any, ...], rng: Any) -> list[Candidate]:
    candidates = default_candidates(X, view=view, random_state=rng)
    if len(views) == 1:
        return candidates
    return [
        replace(c, name=f"view {view + 1}: {c.name}", family=f"view {view + 1}: {c.family}")
        for c in candidates
    ]


def is_matrix(kernel: Any) -> bool:
    """Return whether a kernel was given as a matrix: array, data frame or list of rows."""
    rows = isinstance(kernel, list) and bool(kernel) and isinstance(kernel[0], (list, np.ndarray))
    return isinstance(kernel, np.ndarray) or hasattr(kernel, "columns") or rows


def _is_grid(kernel: Any) -> bool:
    return isinstance(kernel, tuple) and len(kernel) == 2 and isinstance(kernel[1], Mapping)


def _grid(name: str | None, kernel: Any, grid: Any, *, view: int, X: Any) -> Iterable[Candidate]:
    base = as_kernel(kernel, X)
    family = name or type(base).__name__
    for values in ParameterGrid(dict(grid)):
        shown = ", ".join(
            f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}"
            for key, value in values.items()
        )
        yield Candidate(f"{family} ({shown})", clone(base).set_params(**values), family, None, view)


def median_distances(X: Any, random_state: Any = 0, size: int = 400) -> tuple[float, float]:
    """Return the median Euclidean and city-block distances between distinct rows."""
    part = X[_drawn(X.shape[0], random_state, size)]
    part = part.toarray() if sp.issparse(part) else np.asarray(part, dtype=np.float64)
    return _median(pdist(part, "euclidean")), _median(pdist(part, "cityblock"))


def _drawn(n: int, random_state: Any, size: int) -> Array:
    """Return the samples from which distances are taken."""
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    return np.sort(rng.choice(n, size, replace=False)) if n > size else np.arange(n)


def _median(d: Array) -> float:
    """Return the median of the distances between samples that differ."""
    d = d[d > 0]
    return float(np.median(d)) if len(d) else 1.0


def narrower(candidate: Candidate, factor: float) -> Candidate:
    """Return a candidate of learned feature weights with all of them times a factor."""
    kernel = gk.Gaussian.from_gamma(1.0) @ gk.LinearMap(candidate.kernel.map.S * factor)
    width = {2.0: "half", 4.0: "a quarter of"}.get(factor, f"1/{factor:g} of")
    return replace(candidate, name=f"{candidate.name}, {width} the width", kernel=kernel)


def learn_weights(
    source: Candidate,
    middle: Candidate,
    X: Array,
    task: Task,
    rows: Array,
    climbs: int,
) -> list[Candidate]:
    """Return Gaussians of feature weights that are learned from some rows, from one or two starts.

    The alignment finds the features that matter, but it has several optima, likes wide kernels and
    favours the strongest feature. So the search starts near the median distance, and the weights
    are tried as learned, as their square roots, and equal for those above a tenth of the mean;
    where samples are many, also from a second start, the best Gaussian of the first check.
    """
    spread = X[rows].var(axis=0)
    candidates = []
    # wide kernels hide interactions, and the first check often prefers one by a hair
    starts = [("", middle), (", second start", source)]
    for start, first in starts[:climbs]:
        width = 1.0 / (np.sqrt(2.0) * first.kernel.length_scale)
        S = _learn(X[rows], task, rows, width)
        if S is None:
            continue
        share = S**2 * spread
        chosen = share > 0.1 * share.sum() / len(share)
        kinds = {
            "learned feature weights": S,
            "square-root feature weights": np.sqrt(S),
            "selected features": chosen.astype(float),
        }
        for word, shape in kinds.items():
            weights = shape * np.sqrt(share.sum() / float(shape**2 @ spread))
            kernel = gk.Gaussian.from_gamma(1.0) @ gk.LinearMap(weights)
            name = f"Gaussian, {word}{start}"
            candidates.append(Candidate(name, kernel, "learned", None, source.view))
    return candidates


def _learn(X: Array, task: Task, rows: Array, start: float) -> Array | None:
    """Return feature weights that raise the alignment, or None where there are none."""
    w = task.weights[rows]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)  # stopping early is the intention
        try:
            learner = TransformLearner(
                structure="diagonal",
                measure="cka",
                keep=1.0,  # shrunk shapes are made from the weights, too
                l1=0.0,  # sparse shapes are made from the weights, see `learn_weights`
                max_iter=CLIMB,
                init=np.full(X.shape[1], float(start)),
                task=task.measured_as,
                dtype="float32",
                random_state=task.seed,
            ).fit(X, task.measured[rows], sample_weight=None if np.all(w == w[0]) else w)
        except Undefined:  # no alignment among rows of one class or constant features
            return None
    if any("interrupted" in str(item.message) for item in caught):
        raise KeyboardInterrupt  # a learner that is interrupted keeps the best so far
    S = np.abs(np.diagonal(learner.components_))
    usable = np.isfinite(S).all() and float(S**2 @ X.var(axis=0)) > 0
    return np.ascontiguousarray(S) if usable else None

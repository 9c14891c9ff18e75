"""Target: what similarity should look like, as a thin factor.

Labels or values y become a probe V (n x t, with the ones vector in its span: V e = 1) and a
contrast M (t x t), so that the n x n target matrix is T = V M V' and never exists. Centring it
never touches n: H V = V J with J = I - e m'/n, hence M_c = J M J'.

A weight says how much a row counts, not how many rows there are: `normalised_weights` is the one
place where weights lose their scale, see docs/theory/weights.rst.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import type_of_target

from gramsmith.arguments import LARGEST_INTEGER, abridged, is_missing, is_one_of
from gramsmith.cached import cached_property

Array = npt.NDArray[Any]

LARGEST = 1e70  # of values: sums of their fourth powers are finite
TARGETS = ("auto", "simplex", "one_hot", "balanced", "imbalanced")
DEPRECATED = {"uneven": "imbalanced"}  # names of 0.2, which warn


class ConstantTarget(ValueError):
    """Raised where a target does not vary: one class, or constant values."""


@dataclass(frozen=True)
class Target:
    """T = V M V' for n weighted samples.

    Parameters
    ----------
    V : array of shape (n, t)
        Probe: one-hot classes; or ones, then centred values; or ones, then label indicators.
    M : array of shape (t, t)
        Contrast.
    e : array of shape (t,)
        V e = 1.
    w : array of shape (n,)
        Weights, with mean 1 over the rows of positive weight, see `normalised_weights`.
    kind : {"classes", "values", "labels"}
    classes : array of shape (C,) or None
    scheme : str
        How the contrast of classes follows from their sizes, see `make_target`.
    copies : array of shape (n,), optional
        How many rows each of these stands for, where they are drawn from more; `w` counts them all.
    """

    V: Array
    M: Array
    e: Array
    w: Array
    kind: str
    classes: Array | None = None
    scheme: str = "auto"
    copies: Array | None = None

    @cached_property
    def wV(self) -> Array:
        """The probe with every row times its weight: the right factor of K V."""
        return self.V if np.all(self.w == 1.0) else self.w[:, None] * self.V

    @cached_property
    def row_weights(self) -> Array:
        """The weight of every row by itself, without the rows that it stands for."""
        return self.w if self.copies is None else self.w / self.copies

    @cached_property
    def n(self) -> float:
        """The number of samples of positive weight, which is also the sum of the weights."""
        return float(self._counted.sum())

    @cached_property
    def _counted(self) -> Array:
        return np.asarray((self.w > 0) * (1.0 if self.copies is None else self.copies))

    @cached_property
    def weighted(self) -> bool:
        """Whether the samples of positive weight differ in weight."""
        return bool(np.any((self.row_weights != 1.0) & (self.row_weights != 0.0)))

    @cached_property
    def m(self) -> Array:
        """V'w; for classes their sizes, weights counted."""
        return np.asarray(self.w @ self.V)

    @cached_property
    def counts(self) -> Array:
        """The number of samples of positive weight in every class (classes only)."""
        return np.asarray(self._counted @ self.V)

    @cached_property
    def C(self) -> Array:
        """V'V."""
        return np.asarray(self.V.T @ self.wV)

    @cached_property
    def M_centred(self) -> Array:
        """The contrast of the centred target H T H."""
        J = np.eye(len(self.e)) - np.outer(self.e, self.m) / self.n
        return np.asarray(J @ self.M @ J.T)

    @cached_property
    def codes(self) -> Array:
        """The class number of every sample (classes only)."""
        return np.asarray(self.V.argmax(axis=1))

    @cached_property
    def members(self) -> list[Array]:
        """The samples of every class (classes only)."""
        return [np.flatnonzero(column != 0.0) for column in self.V.T]

    @cached_property
    def centred_diagonal(self) -> Array:
        """The diagonal of H T H."""
        return np.asarray(np.einsum("ij,ij->i", self.V @ self.M_centred, self.V))

    def norm(self, contrast: Array) -> float:
        """Return the Frobenius norm of V contrast V'."""
        A = contrast @ self.C
        unit = float(np.exp2(np.frexp(np.abs(A).max(initial=0.0))[1]))  # squares may overflow
        A = A / unit
        return unit * float(np.sqrt(max(np.einsum("ij,ji->", A, A), 0.0)))

    def drawn(self, index: Array, copies: Array) -> Target:
        """Return the target of some samples that stand for others, centre and contrast kept."""
        w = self.row_weights[index] * copies
        counted = float(copies[w > 0].sum())
        if self.weighted and w.any():  # the weights of all together are known
            w *= counted / w.sum()
        return replace(self, V=self.V[index], w=w, copies=copies)

    def take(self, index: Array) -> Target:
        """Return the target of the samples `index`, the centre and contrast recomputed."""
        if self.copies is None:
            V, w = self.V.take(index, axis=0), self.w.take(index)  # ten times quicker than V[index]
            part = replace(self, V=V, w=normalised_weights(w))
        else:
            part = self.drawn(index, self.copies[index])
        if self.kind == "values":
            mean = part.w @ part.V[:, 1:] / max(part.n, np.finfo(float).tiny)
            # without this, values that are constant in the part would leave rounding behind
            counted = part.V[part.w > 0, 1:]
            varies = counted.max(axis=0, initial=-np.inf) > counted.min(axis=0, initial=np.inf)
            V = np.column_stack([np.ones(len(part.w)), (part.V[:, 1:] - mean) * varies])
            return replace(part, V=V)
        if self.kind == "classes":
            return replace(part, M=class_contrast(self.scheme, part.m))
        return part


def make_target(
    y: Any, target: str = "auto", *, task: str = "auto", sample_weight: Any = None
) -> Target:
    """Return the target of labels or values.

    Parameters
    ----------
    y : array of shape (n,) or (n, q)
        Class labels of any type, real values, several real outputs, or a 0/1 label matrix. Whole
        numbers are classes unless ``task="regression"``.
    target : {"auto", "simplex", "one_hot", "balanced", "imbalanced"}, default="auto"
        For classes: 1 within and -1/(C-1) between classes ("auto", "simplex"; for two classes this
        is yy' with y = ±1); 1 and 0; 1/n_c and 0; the centred labels 1/n+ and -1/n-.
    task : {"auto", "classification", "regression"}, default="auto"
    sample_weight : array of shape (n,), optional
        How much each sample counts, >= 0. All of them times a number is the same, and a weight of
        0 leaves the sample out.

    Returns
    -------
    Target

    Examples
    --------
    >>> from gramsmith.targets import make_target
    >>> make_target(["a", "b", "a"]).classes
    array(['a', 'b'], dtype='<U1')
    """
    target = target_scheme(target)
    if not is_one_of(task, ("auto", "classification", "regression")):
        raise ValueError(
            f'Expected task "auto", "classification" or "regression", got {abridged(task)}.'
        )
    y = as_labels(y)
    w = normalised_weights(check_weights(sample_weight, y.shape[0]))
    if task == "regression":
        return value_target(y, w)
    kind = kind_of(y)
    if kind.startswith("continuous"):
        if task == "classification":
            raise ValueError(
                "Expected class labels, got real numbers. Unknown label type: continuous. "
                'Use task="regression", or convert y to labels.'
            )
        return value_target(y, w)
    if kind == "multilabel-indicator":
        return label_target(y, w)
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Expected one label per sample or a 0/1 label matrix, got a target of type {kind}. "
            'Use task="regression" for several numeric outputs.'
        )
    return class_target(np.ravel(y), w, target)


def target_scheme(target: Any, allowed: tuple[str, ...] = TARGETS) -> str:
    """Return the name of a target that is allowed, or raise; a name of old warns."""
    if is_one_of(target, tuple(DEPRECATED)):
        name = DEPRECATED[target]
        warnings.warn(
            f'target="{target}" is now called target="{name}"; the old name goes in 0.5.',
            FutureWarning,
            stacklevel=2,
        )
        target = name
    if not is_one_of(target, allowed):
        raise ValueError(
            f"Expected target to be one of {', '.join(allowed)}, got {abridged(target)}."
        )
    return str(target)


def kind_of(y: Any) -> str:
    """Return scikit-learn's word for what labels or values are."""
    # without its hint about many classes, and its attempt to make a whole number of 1e300
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", UserWarning)
        return str(type_of_target(y))


def class_target(y: Array, w: Array, target: str = "auto") -> Target:
    """Return the target of class labels, shape (n,)."""
    classes, codes = np.unique(y, return_inverse=True)
    V = np.zeros((len(y), len(classes)))
    V[np.arange(len(y)), codes] = 1.0
    sizes = w @ V
    present = sizes > 0
    classes, V, sizes = classes[present], V[:, present], sizes[present]
    if len(classes) < 2:
        raise ConstantTarget(
            f"Expected at least two classes, got 1 class: {classes.tolist()}. "
            "Add samples of another class; a measure compares classes."
        )
    return Target(
        V, class_contrast(target, sizes), np.ones(len(classes)), w, "classes", classes, target
    )


def class_contrast(scheme: str, sizes: Array) -> Array:
    """Return the contrast M between classes of the given sizes; empty ones count for nothing."""
    C = len(sizes)
    if scheme in ("auto", "simplex"):
        return np.asarray((C * np.eye(C) - 1.0) / (C - 1.0))
    if scheme == "one_hot":
        return np.eye(C)
    inverse = np.where(sizes > 0, 1.0 / np.where(sizes > 0, sizes, 1.0), 0.0)
    if scheme == "balanced":
        return np.diag(inverse)
    if C == 2:
        v = np.array([-1.0, 1.0]) * inverse
        return np.outer(v, v)
    J = np.eye(C) - np.outer(np.ones(C), sizes) / sizes.sum()
    return np.asarray(J @ np.diag(inverse) @ J.T)


def value_target(y: Array, w: Array) -> Target:
    """Return the target of real values, shape (n,) or (n, q), centred."""
    Y = finite_values(y).reshape(len(y), -1)
    used = Y[w > 0]
    low, high = used.min(axis=0, initial=np.inf), used.max(axis=0, initial=-np.inf)
    # relative to the size of y: y times 1e-15 is the same task
    varies = high - low > 1e-14 * np.abs(used).max(axis=0, initial=0.0)
    Y = (Y - w @ Y / w.sum()) * varies  # a constant column would leave its rounding behind
    if len(used) and not varies.any():
        raise ConstantTarget(
            "Expected targets that vary, got a constant y. There is nothing to align with."
        )
    V = np.column_stack([np.ones(len(Y)), Y])
    M = np.diag(np.r_[0.0, np.ones(Y.shape[1])])
    return Target(V, M, np.eye(len(M))[0], w, "values")


def finite_values(y: Any) -> Array:
    """Return values for regression as floats whose squares are finite, or raise."""
    try:
        Y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        for row, value in enumerate(y):
            try:
                np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):
                text = repr(str(value) if isinstance(value, str) else value)
                text = text if len(text) < 60 else f"{text[:30]} ..."
                raise ValueError(
                    f"Expected numbers for regression, got {text} in row {row}. Drop such "
                    'samples, or use task="classification" for labels.'
                ) from None
        raise ValueError(
            f"Expected numbers for regression, got {type(y).__name__}. Pass one row per sample."
        ) from None
    bad = ~(np.abs(Y) < LARGEST)
    if bad.any():
        row = int(np.argwhere(bad)[0, 0])
        if np.isfinite(Y).all():
            raise ValueError(
                f"Expected targets below {LARGEST:g} in size, got {Y[row].tolist()} in row {row}. "
                "Sums of their powers would be infinite: divide y by a number."
            )
        raise ValueError(
            f"Expected finite targets, got {Y[row].tolist()} in row {row}. Input y contains NaN or "
            "infinity; drop these samples."
        )
    return Y


def label_target(y: Array, w: Array) -> Target:
    """Return the target of a 0/1 label matrix: the sum over labels of the ±1 targets."""
    Y = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=np.float64)
    V = np.column_stack([np.ones(len(Y)), Y])
    B = np.vstack([-np.ones(Y.shape[1]), 2.0 * np.eye(Y.shape[1])])
    return Target(V, B @ B.T, np.eye(len(B))[0], w, "labels")


def check_weights(sample_weight: Any, n: int) -> Array:
    """Return the weights as a float array of n non-negative numbers, not all zero."""
    if sample_weight is None:
        return np.ones(n)
    try:
        w = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"Expected one number per sample ({n}) as sample_weight, got something else. "
            "Pass an array of floats."
        ) from None
    if w.shape != (n,) and w.ndim != 0:
        raise ValueError(f"Expected one sample_weight per sample ({n}), got shape {w.shape}.")
    if not n:
        raise ValueError("Expected at least one sample, got none.")
    w = np.broadcast_to(w, (n,)).copy()
    if not np.isfinite(w).all() or w.min(initial=0.0) < 0 or not w.any():
        raise ValueError(
            "Expected finite sample_weight >= 0 that are not all zero, got "
            f"values from {w.min():.3g} to {w.max():.3g}. Drop samples with weight 0 by index."
        )
    return w


def check_groups(groups: Any, n: int) -> Array | None:
    """Return one group per sample as an array of what can be sorted, or raise."""
    if groups is None:
        return None
    try:
        found = np.asarray(groups)
    except ValueError:  # lists of several lengths
        raise ValueError(f"Expected one group per sample ({n}), got lists.") from None
    if found.shape != (n,):
        raise ValueError(
            f"Expected one group per sample ({n}), got shape {found.shape}: inconsistent numbers "
            "of samples."
        )
    if found.dtype != object:
        return found
    for row, value in enumerate(found):
        if is_missing(value):
            raise ValueError(f"Expected a group for every sample, got a missing one in row {row}.")
    if {type(value) for value in found} == {str}:
        return found.astype(str)
    try:  # dates, periods and intervals are told apart as well as numbers
        return np.asarray(np.unique(found, return_inverse=True)[1])
    except (TypeError, ValueError, OverflowError):
        kinds = sorted({type(value).__name__ for value in found})
        raise ValueError(
            f"Expected groups that can be sorted, got {' and '.join(kinds)}. Make them text."
        ) from None


def normalised_weights(w: Array) -> Array:
    """Return weights w n+ / Σ w, whose mean over the n+ rows of positive weight is 1.

    Everything that is measured or chosen takes its weights from here: no scale of the weights is
    left in them, so that counts are counts of rows. Equal weights become exactly 1.

    Examples
    --------
    >>> import numpy as np
    >>> normalised_weights(np.array([0.0, 0.1, 0.3]))
    array([0. , 0.5, 1.5])
    """
    largest = w.max(initial=0.0)
    if largest == 0.0:
        return w
    there = w > 0
    if np.all(w[there] == largest):
        return there.astype(np.float64)
    share = w / largest  # the sum of huge weights would overflow
    return np.asarray(share * (np.count_nonzero(there) / share.sum()))


def as_labels(y: Any) -> Any:
    """Return targets as an array of text or numbers, or raise; sparse ones as they are."""
    if y is None:
        raise ValueError("Expected targets y, got None. Pass labels or values, one per sample.")
    if hasattr(y, "toarray"):
        return y
    try:
        y = np.asarray(y)
    except ValueError:  # lists of several lengths
        raise ValueError("Expected one label or value per sample, got lists in y.") from None
    if np.iscomplexobj(y):
        raise ValueError("Expected real targets, got complex numbers. Take the real part.")
    if y.ndim not in (1, 2):
        raise ValueError(f"Expected y of shape (n,) or (n, q), got shape {y.shape}.")
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argwhere(~np.isfinite(y))[0, 0])
        raise ValueError(
            f"Expected finite targets, got {y[row]} in row {row}. Input y contains NaN or "
            "infinity; drop these samples."
        )
    return _of_objects(y) if y.dtype == object else y


def _of_objects(y: Array) -> Array:
    """Return labels that are Python objects as an array of text or numbers, or raise."""
    values = y.ravel()
    for i, value in enumerate(values):
        if is_missing(value):
            raise ValueError(
                "Expected a label for every sample, got a missing one in row "
                f"{i // (y.size // len(y))}. Drop unlabelled samples."
            )
    types = {type(value) for value in values}
    if all(issubclass(t, str) for t in types):
        return y.astype(str)
    if all(issubclass(t, (int, float, np.number, np.bool_)) for t in types):
        for i, value in enumerate(values):
            if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
                raise ValueError(
                    f"Expected labels that float64 can hold, got {abridged(value)} in row "
                    f"{i // (y.size // len(y))}. Use y.astype(str) for classes."
                )
        return y.astype(np.result_type(*{np.asarray(value).dtype for value in values}))
    raise ValueError(
        "Expected labels that are all text or all numbers, got "
        f"{' and '.join(sorted(t.__name__ for t in types))}. Use y.astype(str) for classes."
    )

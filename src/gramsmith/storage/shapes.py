"""Specifications of attributes and parameters: what a class says may stand in a file.

A specification is a list of alternatives parted by ``|``. In one alternative the first word is the
kind and the others are sizes: a number, a letter that must mean the same size wherever it occurs in
the object, or ``*`` for any size.

=====================  =========================================================================
``array n p``          numbers of this shape, finite (``loose n p``: NaN and infinities allowed)
``positive n``         the same, all above zero
``record n``           numbers of training rows (like ``loose``) that predictions do without: the
                       file of a selector, and one without training rows, leaves them out
``index n s``          s whole numbers from 0 to n - 1
``labels k``           k labels: numbers, flags or texts
``names k``            k texts
``samples n p``        n samples: dense or CSR rows with p numbers, or n objects
``count p``            a whole number, which is p
``number``             a finite number (``real``: NaN and infinities allowed)
``whole``              a whole number; ``flag``, ``text`` and ``none`` likewise
``choice a b``         one of these words
``pair``               two finite numbers
``kernel``             a kernel; ``source`` one of scikit-learn; ``map`` a map of samples
``model``              an estimator; ``list x`` a list of kernels, models, ...
``steps``              the steps of a pipeline: pairs of a name and an estimator
``code``               a function, which no file keeps
``value``              anything
``dropped``            anything else, which is not kept
=====================  =========================================================================

A trailing ``?`` on the whole specification lets the attribute be absent. Finite numbers are at most
1e150, so that their squares are finite too.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Kernel as SklearnKernel

from gramsmith.kernels.base import Kernel
from gramsmith.kernels.maps import SampleMap
from gramsmith.storage.container import Array, ModelFormatError

Sizes = dict[str, int]

LARGEST = 1e150


def optional(specification: str) -> bool:
    """Return whether the attribute may be absent."""
    return specification.endswith("?") or droppable(specification)


def droppable(specification: str) -> bool:
    """Return whether a value that meets no alternative is left out of the file."""
    return specification.endswith("dropped")


def check(value: Any, specification: str, sizes: Sizes, where: str) -> None:
    """Raise ModelFormatError unless the value meets one alternative; bind the sizes it fixes."""
    for alternative in specification.removesuffix("?").split("|"):
        kind, *axes = alternative.split()
        bound = dict(sizes)
        if _meets(value, kind, axes, bound):
            sizes.update(bound)
            return
    named = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    raise ModelFormatError(
        f"{where}: expected {specification.removesuffix('?')}{f' with {named}' if named else ''}, "
        f"got {describe(value)}. The file is damaged or forged."
    )


def meets(value: Any, specification: str) -> bool:
    """Return whether a value meets one alternative of a specification."""
    try:
        check(value, specification, {}, "")
    except ModelFormatError:
        return False
    return True


def describe(value: Any) -> str:
    """Return type and shape of a value in a few words."""
    shape = getattr(value, "shape", None)
    if shape:
        flaw = "" if finite(value) else f" with NaN, infinity or numbers above {LARGEST:g}"
        return f"{value.dtype} of shape {tuple(shape)}{flaw}"
    return type(value).__name__


def _meets(value: Any, kind: str, axes: list[str], sizes: Sizes) -> bool:
    if kind in ("array", "loose", "record", "positive"):
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
            return False
        loose = kind in ("loose", "record")
        sound = loose or (finite(value) and (kind == "array" or bool((value > 0).all())))
        return sound and _fits(value.shape, axes, sizes)
    if kind == "index":
        whole = isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1
        if not whole or not _fits(value.shape, axes[1:], sizes):
            return False
        return not value.size or bool(value.min() >= 0 and value.max() < sizes.get(axes[0], 0))
    if kind in ("labels", "names"):
        flat = isinstance(value, np.ndarray) and value.ndim == 1 and _fits(value.shape, axes, sizes)
        return flat and (_are_labels(value) if kind == "labels" else _are_texts(value))
    if kind == "samples":
        return _samples(value, axes, sizes)
    if kind == "count":
        whole = isinstance(value, Integral) and int(value) >= 0
        return whole and _fits((int(value),), axes, sizes)
    if kind == "choice":
        return isinstance(value, str) and value in axes
    if kind == "list":
        listed = isinstance(value, list | tuple)
        return listed and all(_meets(item, axes[0], axes[1:], sizes) for item in value)
    return _PLAIN[kind](value)


def _are_labels(value: Array) -> bool:
    if value.dtype == object:
        return all(isinstance(item, str | bytes | Real | np.bool_) for item in value)
    return value.dtype.kind in "fiubU"


def _are_texts(value: Array) -> bool:
    return value.dtype.kind == "U" or all(isinstance(item, str) for item in value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_number(value: Any) -> bool:
    if not isinstance(value, Real) or _is_flag(value):
        return False
    # a limit for doubles is infinite in single precision, and a whole number may be past both
    number: Any = value
    return bool(abs(number if isinstance(number, int) else float(number)) <= LARGEST)


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "number": _is_number,
    "real": lambda v: isinstance(v, Real) and not _is_flag(v),
    "whole": lambda v: isinstance(v, Integral) and not _is_flag(v),
    "flag": _is_flag,
    "text": lambda v: isinstance(v, str),
    "none": lambda v: v is None,
    "pair": lambda v: isinstance(v, list | tuple) and len(v) == 2 and all(map(_is_number, v)),
    "kernel": lambda v: isinstance(v, Kernel),
    "source": lambda v: isinstance(v, SklearnKernel) and not isinstance(v, Kernel),
    "map": lambda v: isinstance(v, SampleMap),
    "model": lambda v: isinstance(v, BaseEstimator),
    "steps": lambda v: isinstance(v, list) and all(map(_is_step, v)),
    "code": lambda v: False,
    "value": lambda v: True,
    "dropped": lambda v: False,
}


def _is_step(value: Any) -> bool:
    named = isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)
    return named and (isinstance(value[1], BaseEstimator) or value[1] in (None, "passthrough"))


def finite(value: Any) -> bool:
    """Return whether the entries of an array, dense or sparse, are finite and not too large."""
    entries = value.data if sp.issparse(value) else value
    if entries.dtype.kind != "f" or not entries.size:
        return True
    # as doubles: the limit is infinite in single precision; a comparison with NaN is false
    return max(-float(entries.min()), float(entries.max())) <= LARGEST


def _samples(value: Any, axes: list[str], sizes: Sizes) -> bool:
    if isinstance(value, list | tuple):
        return _fits((len(value),), axes[:1], sizes)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return _fits(value.shape, axes[:1], sizes) and finite(value)
    if not sp.issparse(value) and not (
        isinstance(value, np.ndarray) and value.dtype.kind in "fiubOU"
    ):
        return False
    return _fits(value.shape, axes, sizes) and finite(value)


def _fits(shape: tuple[int, ...], axes: list[str], sizes: Sizes) -> bool:
    if len(shape) != len(axes):
        return False
    for size, axis in zip(shape, axes, strict=True):
        wanted = (
            size if axis == "*" else int(axis) if axis.isdigit() else sizes.setdefault(axis, size)
        )
        if size != wanted:
            return False
    return True

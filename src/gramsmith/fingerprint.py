"""Fingerprints: hashes of values, kernels and functions, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import partial
from pickle import PicklingError
from types import CodeType, ModuleType
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

PLAIN = str | bytes | int | float | complex | None | np.generic | slice | range


def fingerprint(*values: Any) -> str:
    """Return a hash of values: arrays, kernels with their parameters, functions, records of them.

    Examples
    --------
    >>> import numpy as np
    >>> fingerprint(np.arange(3), "a") == fingerprint(np.arange(3), "a")
    True
    >>> fingerprint(1.0) == fingerprint(1)
    False
    """
    return _digest(values, {}, ()).hex()[:32]


def _digest(value: Any, known: dict[int, tuple[Any, bytes]], inside: tuple[int, ...]) -> bytes:
    """Return a hash of a value.

    `known` has those of its parts so far, each with the part, so that no other takes its number;
    `inside` the numbers of what it is a part of: a function may call itself.
    """
    me = id(value)
    if me in inside:
        return f"<{inside.index(me)}>".encode()
    if me in known:
        return known[me][1]
    found = hashlib.sha256(f"<{type(value).__module__}.{type(value).__qualname__}".encode())
    if isinstance(value, PLAIN):
        found.update(repr(value).encode())
        return found.digest()
    if _is_data(value):
        found.update(str(joblib.hash(value)).encode())
    else:
        for part in _parts(value):
            found.update(_digest(part, known, (*inside, me)))
    known[me] = value, found.digest()
    return known[me][1]


def _is_data(value: Any) -> bool:
    """Return whether a value is an array, a frame or a generator: what `joblib.hash` is for."""
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    random = isinstance(value, np.random.Generator | np.random.RandomState)
    return random or sp.issparse(value) or hasattr(value, "to_pydict") or hasattr(value, "to_numpy")


def _parts(value: Any) -> Iterable[Any]:
    """Return what makes a value what it is; `joblib.hash` knows functions by their names alone."""
    if isinstance(value, ModuleType):
        return value.__name__, str(getattr(value, "__version__", ""))
    if isinstance(value, type | np.dtype):
        return str(getattr(value, "__module__", "")), str(getattr(value, "__qualname__", value))
    if isinstance(value, partial):
        return value.func, value.args, value.keywords
    if callable(value) and hasattr(value, "__qualname__"):
        names = ("__code__", "__defaults__", "__kwdefaults__", "__self__")
        state = [getattr(value, name, None) for name in names]
        bound = [None if isinstance(part, ModuleType) else part for part in state]
        cells = [_content(cell) for cell in getattr(value, "__closure__", None) or ()]
        module = str(getattr(value, "__module__", ""))  # methods of types in C have none
        return module, str(value.__qualname__), *bound, cells
    if isinstance(value, CodeType):
        return value.co_code, value.co_names, value.co_consts
    if isinstance(value, list | tuple | np.ndarray):
        return value
    if isinstance(value, dict):
        return [part for key in sorted(value, key=repr) for part in (repr(key), value[key])]
    if isinstance(value, set | frozenset):
        return [repr(sorted(value, key=repr))]
    if hasattr(value, "get_params"):  # first: a class derived from a record may have more of them
        return [value.get_params(deep=False)]
    if is_dataclass(value):
        return [{f.name: getattr(value, f.name) for f in fields(value)}]
    if hasattr(value, "__dict__"):
        return [dict(value.__dict__)]
    text = repr(value)
    if " at 0x" not in text:  # an address is another one in the next process
        return [text]
    try:
        state = value.__reduce_ex__(4)  # as pickle has it: slots, and objects of other languages
    except (TypeError, NotImplementedError, PicklingError):
        return [None]
    return [state] if isinstance(state, str) else state[:3]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing in it yet
        return None

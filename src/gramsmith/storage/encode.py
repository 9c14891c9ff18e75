"""Models to plain data: nested JSON nodes, and arrays set aside as tensors.

==========================  ====================================================================
``null true 1 0.5 "text"``  themselves
``{"$": "float"}``          NaN and the infinities, by name
``{"$": "scalar"}``         a NumPy number with its type
``{"$": "array"}``          a numeric array: tensor, type, shape, memory order
``{"$": "objects"}``        an array of texts or mixed labels, item by item
``{"$": "sparse"}``         a CSR matrix: three arrays and a shape
``{"$": "list"}``           likewise tuple, set, dict, bytes
``{"$": "object"}``         a class of the registry: its parameters and fitted attributes
==========================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.learning.objective import stored_name
from gramsmith.storage.container import DEPTH_LIMIT, TYPES, Array, ModelFormatError
from gramsmith.storage.registry import KEYS, REGISTRY
from gramsmith.storage.shapes import Sizes, check, droppable, meets
from gramsmith.tables.streams import short

Node = Any


class NotStorable(TypeError):
    """Raised before anything is written when a model holds what a file cannot keep."""


class Encoder:
    """Turns one model into nodes; `tensors` collects its arrays by the name nodes use for them."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def encode(self, value: Any, where: str, depth: int = 0) -> Node:
        """Return the node of a value; `where` names it in messages."""
        if depth > DEPTH_LIMIT:
            raise NotStorable(
                f"{where}: expected nesting below {DEPTH_LIMIT} levels, got more. "
                "Flatten the model, for example by fewer nested sums of kernels."
            )
        value = stored_name(value)
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"$": "float", "value": repr(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, where, depth)
        if isinstance(value, np.ndarray):
            return self._array(value, where, depth)
        if sp.issparse(value):
            return self._sparse(value, where, depth)
        if type(value) in (list, tuple, set, frozenset):
            listed = value if type(value) in (list, tuple) else sorted(value, key=repr)
            items = [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(listed)]
            return {"$": type(value).__name__, "items": items}
        if type(value) is dict:
            pairs = [
                [
                    self.encode(k, f"a key of {where}", depth + 1),
                    self.encode(v, f"{where}[{k!r}]", depth + 1),
                ]
                for k, v in value.items()
            ]
            return {"$": "dict", "items": pairs}
        if type(value) is bytes:
            return {"$": "bytes", "hex": value.hex()}
        return self._object(value, where, depth)

    def _scalar(self, value: Any, where: str, depth: int) -> Node:
        if isinstance(value, np.str_):
            return str(value)
        if value.dtype.name not in TYPES:
            raise NotStorable(f"{where}: expected a real number, got {type(value).__name__}.")
        plain = self.encode(value.item(), where, depth + 1)
        return {"$": "scalar", "dtype": value.dtype.name, "value": plain}

    def _array(self, value: Array, where: str, depth: int) -> Node:
        if type(value) is not np.ndarray and not isinstance(value, np.memmap):
            raise NotStorable(
                f"{where}: expected a plain array, got {type(value).__name__}. Use numpy.asarray."
            )
        if value.dtype.kind in "UO":
            kind = "str" if value.dtype.kind == "U" else "object"
            items = [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value.flat)]
            return {"$": "objects", "dtype": kind, "shape": list(value.shape), "items": items}
        dtype = value.dtype.newbyteorder("=")
        if dtype.name not in TYPES:
            raise NotStorable(
                f"{where}: expected real numbers or text, got an array of {value.dtype}. "
                "Convert it, for example with astype(float)."
            )
        plain = np.ascontiguousarray(value, dtype=dtype).reshape(value.shape)
        # equal arrays are kept once: a machine holds its kernel as it was given and as it is used
        digest = blake2b(plain.tobytes()).digest()
        name = self._names.setdefault((dtype.name, plain.shape, digest), str(len(self.tensors)))
        self.tensors[name] = plain
        # BLAS may round differently by memory order; the loaded array gets the same one.
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {
            **{"$": "array", "tensor": name, "dtype": dtype.name},
            **{"shape": list(value.shape), "order": order},
        }

    def _sparse(self, value: Any, where: str, depth: int) -> Node:
        if value.format != "csr" or value.ndim != 2:
            raise NotStorable(f"{where}: expected a CSR matrix, got {value.format}. Use tocsr().")
        parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        return {
            **{"$": "sparse", "array": isinstance(value, sp.sparray), "shape": list(value.shape)},
            **{k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in parts.items()},
        }

    def _object(self, value: Any, where: str, depth: int) -> Node:
        key = KEYS.get(type(value))  # subclasses are other classes
        if key is None:
            raise NotStorable(refusal(value, where))
        entry = REGISTRY[key]
        params = {k: None if k == "engine" else getattr(value, k) for k in entry.arguments}
        fitted = {k: v for k, v in attributes(value).items() if k not in params}
        if entry.keep is not None:
            params, fitted = entry.keep(value, params, fitted)
        for state, specifications in ((params, entry.params), (fitted, entry.fitted)):
            self._check(state, specifications, where)
        given = {k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in params.items()}
        unknown = sorted(fitted.keys() - entry.fitted.keys())
        if unknown:
            raise NotStorable(
                f"{where}: {type(value).__name__} holds {', '.join(unknown)}, which a file has "
                "no place for. Remove what was added to the model by hand."
            )
        return {
            **{"$": "object", "class": key},
            "params": given,
            "fitted": {k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in fitted.items()},
        }

    def _check(self, state: dict[str, Any], specifications: Mapping[str, str], where: str) -> None:
        """Leave out what need not be kept, and refuse what could not be loaded."""
        sizes: Sizes = {}
        for key, specification in specifications.items():
            value = state.get(key)
            if key not in state or (is_function(value) and not droppable(specification)):
                continue  # a function is refused later, in words of its own
            if droppable(specification) and not meets(value, specification):
                del state[key]
                continue
            try:
                check(value, specification, sizes, f"{where}.{key}")
            except ModelFormatError:
                raise NotStorable(
                    f"{where}.{key}: a file can keep {specification} here, got {short(value)}. "
                    f"Use set_params({key}=...) first, or scale the data."
                ) from None


def attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of a model without scikit-learn's bookkeeping."""
    return {
        name: item
        for name, item in vars(value).items()
        if not name.startswith(("_sklearn", "_metadata_request", "_doc_link"))
    }


def is_function(value: Any) -> bool:
    """Return whether a value is code, and not a model or a kernel that can be called."""
    return callable(value) and not hasattr(value, "get_params")


def refusal(value: Any, where: str) -> str:
    """Return why a value cannot be kept, and what to do instead."""
    kind = type(value).__name__
    if callable(value) and where.endswith(".callback"):
        return f"{where}: a file keeps no functions. Remove it: model.set_params(callback=None)."
    if is_function(value):
        return (
            f"{where}: expected numbers, text and known classes, got a function ({short(value)}). "
            "A model file runs no code, so functions cannot be stored. Use a kernel of gramsmith's "
            "own classes (LinearMap instead of FunctionMap, a kernel class instead of a callable), "
            "or compute the kernel matrix and use Precomputed."
        )
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{where}: expected random_state to be a whole number or None, got {kind}."
    return (
        f"{where}: expected a class that gramsmith can store, got {type(value).__module__}.{kind}. "
        "Its kernels, learners and estimators can be kept, and of scikit-learn Pipeline, "
        "ColumnTransformer, StandardScaler, MinMaxScaler, PowerTransformer, SimpleImputer, "
        "OneHotEncoder and OrdinalEncoder."
    )

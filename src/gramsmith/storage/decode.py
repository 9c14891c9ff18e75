"""Plain data back to models: every node is checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from gramsmith.kernels.base import Kernel
from gramsmith.storage.container import DEPTH_LIMIT, TYPES, VERSION, Array, ModelFormatError
from gramsmith.storage.encode import Node
from gramsmith.storage.registry import FORMER_NAMES, REGISTRY, Entry, State
from gramsmith.storage.shapes import Sizes, check, optional
from gramsmith.tables.streams import short

NAMED = {"nan": nan, "inf": inf, "-inf": -inf}
COPIES = 8  # of all tensors together: one tensor may serve several arrays, but not any number


class Decoder:
    """Turns the nodes of a file of some format into a model of today, with the file's tensors."""

    def __init__(self, tensors: dict[str, Array], format_version: int = VERSION) -> None:
        self._tensors = tensors
        self._unused = set(tensors)
        self._room = COPIES * sum(tensor.nbytes for tensor in tensors.values())
        self._format = format_version

    def finish(self) -> None:
        """Raise unless every tensor was used."""
        if self._unused:
            raise ModelFormatError(
                f"Expected every tensor to belong to the model, got {len(self._unused)} to spare."
            )

    def decode(self, node: Node, where: str, depth: int = 0) -> Any:
        """Return the value of a node; `where` names it in messages."""
        if depth > DEPTH_LIMIT:
            raise ModelFormatError(f"{short(where)}: nested past {DEPTH_LIMIT} levels.")
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if isinstance(node, list):
            raise ModelFormatError(f"{where}: expected a node, got a bare list.")
        tag = node.get("$")
        if not isinstance(tag, str) or tag not in _TAGS:
            raise ModelFormatError(f"{where}: got a node of unknown kind {short(tag)}.")
        keys, read = _TAGS[tag]
        if tag == "object" and self._format == 2:  # there every object had a version of its own
            keys = (*keys, "version")
        if node.keys() != {"$", *keys}:
            raise ModelFormatError(
                f"{where}: expected a {tag} with {', '.join(keys)}, got {short(sorted(node))}."
            )
        return read(self, node, where, depth)

    def _items(self, node: Node, where: str, depth: int) -> list[Any]:
        if not isinstance(node["items"], list):
            raise ModelFormatError(
                f"{where}: expected a list of items, got {short(node['items'])}."
            )
        return [self.decode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(node["items"])]

    def _float(self, node: Node, where: str, depth: int) -> float:
        if node["value"] not in ("nan", "inf", "-inf"):
            raise ModelFormatError(f"{where}: got the unknown number {short(node['value'])}.")
        return NAMED[node["value"]]

    def _scalar(self, node: Node, where: str, depth: int) -> Any:
        dtype = self._dtype(node, where)
        value = self.decode(node["value"], where, depth + 1)
        fits = {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]
        if type(value) is not fits:
            raise ModelFormatError(f"{where}: {short(value)} is no {dtype.name}.")
        try:
            return dtype.type(value)
        except OverflowError as error:
            raise ModelFormatError(f"{where}: {short(value)} is no {dtype.name}.") from error

    def _dtype(self, node: Node, where: str) -> np.dtype[Any]:
        name = node["dtype"]
        if not isinstance(name, str) or name not in TYPES:
            raise ModelFormatError(f"{where}: got the unknown type {short(name)}.")
        return TYPES[name]

    def _array(self, node: Node, where: str, depth: int) -> Array:
        dtype, shape = self._dtype(node, where), whole(node["shape"], where)
        name = node["tensor"]
        tensor = self._tensors.get(name) if isinstance(name, str) else None
        self._room -= 0 if tensor is None else tensor.nbytes
        if tensor is None or self._room < 0:
            raise ModelFormatError(f"{where}: tensor {short(name)} is absent or used too often.")
        self._unused.discard(name)
        if tensor.dtype != dtype or tensor.shape != shape or node["order"] not in ("C", "F"):
            raise ModelFormatError(
                f"{where}: expected {dtype.name} of shape {shape}, got {tensor.dtype} of shape "
                f"{tensor.shape}. The file is damaged."
            )
        if dtype.kind == "b" and tensor.size and tensor.view(np.uint8).max() > 1:
            raise ModelFormatError(f"{where}: expected flags 0 and 1, got other bytes.")
        return np.array(tensor, order=node["order"])

    def _objects(self, node: Node, where: str, depth: int) -> Array:
        items, shape = self._items(node, where, depth), whole(node["shape"], where)
        count = prod(shape)
        if len(items) != count or len(shape) > 8 or node["dtype"] not in ("str", "object"):
            raise ModelFormatError(
                f"{where}: {len(items)} items do not fill the shape {short(shape)}."
            )
        flat = np.empty(count, dtype=object)
        for i, item in enumerate(items):  # a slice assignment would unpack tuples
            flat[i] = item
        if node["dtype"] == "object":
            return flat.reshape(shape)
        if not all(isinstance(item, str) for item in items):
            raise ModelFormatError(f"{where}: expected texts only, got other items.")
        # one long text would make every item as long: the array may not outgrow its file
        if (
            max(map(len, items), default=0) * count
            > 1000 + 100 * sum(map(len, items)) + 100 * count
        ):
            return flat.reshape(shape)
        return np.array(items, dtype=np.str_).reshape(shape)

    def _sparse(self, node: Node, where: str, depth: int) -> Any:
        shape = whole(node["shape"], where, 2)
        data, indices, indptr = (
            self._part(node[name], f"{where}.{name}", depth)
            for name in ("data", "indices", "indptr")
        )
        # scipy's compiled loops trust these: a forged index would read past the end
        sound = (
            indices.dtype.kind == "i"
            and indptr.dtype == indices.dtype
            and len(indptr) == shape[0] + 1
            and len(data) == len(indices) == indptr[-1]
            and indptr[0] == 0
            and bool((np.diff(indptr) >= 0).all())
            and (not len(indices) or (indices.min() >= 0 and indices.max() < shape[1]))
        )
        if not sound or data.dtype.kind not in "fiub" or type(node["array"]) is not bool:
            raise ModelFormatError(f"{where}: expected a CSR matrix, got indices out of range.")
        return (sp.csr_array if node["array"] else sp.csr_matrix)(
            (data, indices, indptr), shape=shape
        )

    def _part(self, node: Node, where: str, depth: int) -> Array:
        value = self.decode(node, where, depth + 1)
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            raise ModelFormatError(f"{where}: expected a vector, got {type(value).__name__}.")
        return value

    def _list(self, node: Node, where: str, depth: int) -> list[Any]:
        return self._items(node, where, depth)

    def _tuple(self, node: Node, where: str, depth: int) -> tuple[Any, ...]:
        return tuple(self._items(node, where, depth))

    def _set(self, node: Node, where: str, depth: int) -> set[Any] | frozenset[Any]:
        items = self._items(node, where, depth)
        try:
            found = frozenset(items)
        except TypeError as error:
            raise ModelFormatError(f"{where}: expected items of a set, got: {error}.") from error
        if len(found) < len(items):
            raise ModelFormatError(f"{where}: expected distinct items of a set, got repeated ones.")
        return set(found) if node["$"] == "set" else found

    def _dict(self, node: Node, where: str, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        pairs = node["items"]
        if not isinstance(pairs, list) or any(type(p) is not list or len(p) != 2 for p in pairs):
            raise ModelFormatError(f"{where}: expected pairs of key and value, got {short(pairs)}.")
        for key_node, value_node in pairs:
            key = self.decode(key_node, f"a key of {where}", depth + 1)
            if (
                not isinstance(key, str | int | float | bool | bytes | np.generic | None)
                or key in found
            ):
                raise ModelFormatError(f"{where}: got the key {short(key)}, unfit or repeated.")
            found[key] = self.decode(value_node, f"{where}[{short(key)}]", depth + 1)
        return found

    def _bytes(self, node: Node, where: str, depth: int) -> bytes:
        try:
            return bytes.fromhex(node["hex"])
        except (TypeError, ValueError) as error:
            raise ModelFormatError(f"{where}: expected bytes in hexadecimal.") from error

    def _object(self, node: Node, where: str, depth: int) -> Any:
        state: State = {"class": node["class"]}
        for part in ("params", "fitted"):
            if not isinstance(node[part], dict):
                raise ModelFormatError(f"{where}: expected {part} by name, got {short(node[part])}")
            state[part] = {
                k: self.decode(v, f"{where}.{k}", depth + 1) for k, v in node[part].items()
            }
        for old in range(self._format, VERSION):
            upgrade = self._entry(state, where).upgrades.get(old)
            try:
                if upgrade is not None:
                    state = _checked_again(upgrade(state), where)
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                # a forged file need not hold what an upgrade looks for
                raise ModelFormatError(
                    f"{where}: {short(str(error))} The file is damaged."
                ) from error
        return restored(self._entry(state, where), state["params"], state["fitted"], where)

    def _entry(self, state: State, where: str) -> Entry:
        name = state["class"]
        if self._format < VERSION and isinstance(name, str):
            name = FORMER_NAMES.get(name, name)
        if not isinstance(name, str) or name not in REGISTRY:
            raise ModelFormatError(
                f"{where}: expected a class that gramsmith knows, got {short(name)}. The file was "
                "written by a newer version or by another program."
            )
        return REGISTRY[name]


def _checked_again(state: State, where: str) -> State:
    """Return what an upgrade gave; objects that it made are checked as if they had been read."""

    def remade(value: Any, place: str) -> Any:
        if isinstance(value, list):
            return [remade(item, place) for item in value]
        entry = REGISTRY.get(type(value).__name__)
        if entry is None or type(value) is not entry.cls or entry.make is not None:
            return value
        params = {name: getattr(value, name) for name in entry.arguments}
        learned = {name: getattr(value, name) for name in entry.fitted if hasattr(value, name)}
        return restored(entry, params, learned, place)

    fitted = {name: remade(value, f"{where}.{name}") for name, value in state["fitted"].items()}
    return {**state, "fitted": fitted}


def restored(entry: Entry, params: dict[str, Any], learned: dict[str, Any], where: str) -> Any:
    """Return an object of its class, after checking all that goes into it."""
    wanted = entry.arguments
    absent = [k for k, has_default in wanted.items() if k not in params and not has_default]
    unknown = [*(params.keys() - wanted.keys()), *(learned.keys() - entry.fitted.keys())]
    if learned:
        absent += [k for k, s in entry.fitted.items() if k not in learned and not optional(s)]
    if unknown or absent:
        raise ModelFormatError(
            f"{where}: {entry.cls.__name__} has the unknown entries {short(sorted(unknown))} and "
            f"lacks {short(absent)}. The file is damaged."
        )
    for values, specifications in ((params, entry.params), (learned, entry.fitted)):
        sizes: Sizes = {}
        for key, specification in specifications.items():
            if key in values:
                check(values[key], specification, sizes, f"{where}.{key}")
    try:
        if entry.make is not None:
            return entry.make(params, learned)
        model = entry.cls(**params)
        for key, value in learned.items():
            setattr(model, key, value)
        if isinstance(model, Kernel):
            model.check_parameters()
        if learned or not entry.fitted:
            entry.check(model)
    except Exception as error:  # whatever a kernel says of samples that are not its own
        raise ModelFormatError(f"{where}: {short(str(error))} The file is damaged.") from error
    return model


def whole(value: Any, where: str, length: int | None = None) -> tuple[int, ...]:
    """Return a list of whole numbers >= 0 below 2^48 as a tuple."""
    if (
        not isinstance(value, list)
        or (length is not None and len(value) != length)
        or any(type(item) is not int or not 0 <= item < 2**48 for item in value)
    ):
        raise ModelFormatError(f"{where}: expected whole numbers, got {short(value)}.")
    return tuple(value)


Reader = Callable[[Decoder, Node, str, int], Any]

_TAGS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "float": (("value",), Decoder._float),
    "scalar": (("dtype", "value"), Decoder._scalar),
    "array": (("tensor", "dtype", "shape", "order"), Decoder._array),
    "objects": (("dtype", "shape", "items"), Decoder._objects),
    "sparse": (("array", "shape", "data", "indices", "indptr"), Decoder._sparse),
    "list": (("items",), Decoder._list),
    "tuple": (("items",), Decoder._tuple),
    "set": (("items",), Decoder._set),
    "frozenset": (("items",), Decoder._set),
    "dict": (("items",), Decoder._dict),
    "bytes": (("hex",), Decoder._bytes),
    "object": (("class", "params", "fitted"), Decoder._object),
}

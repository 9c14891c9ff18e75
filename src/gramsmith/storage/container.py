"""The file itself: one safetensors container with a JSON manifest in its metadata.

safetensors writes and reads it: its reader has checked every size against the length of the file
before anything is allocated. The manifest travels as one string in the metadata, so that any
safetensors reader can open the file. Nothing here knows what a model is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gramsmith.files import replacing
from gramsmith.tables.streams import short

Array = npt.NDArray[Any]

FORMAT = "gramsmith-model"
VERSION = 3  # what is written
OLDEST = 2  # what is still read: a release reads the files of the release before it
METADATA_KEY = "gramsmith"

HEADER_LIMIT = 100_000_000  # of the safetensors library itself
DEPTH_LIMIT = 64  # of nodes
# of brackets in the manifest: a node has at most three of them (a pair in the items of a dict)
JSON_DEPTH = 4 * DEPTH_LIMIT
# objects and lists in the manifest, of about 100 bytes each; samples that are sets take two each
CONTAINERS = 300_000
CONTAINER = re.compile(r"[\[{,:]\s*(?=[\[{])")

# What a tensor may be.
TYPES = {
    name: np.dtype(name)
    for name in (
        *("float64", "float32", "bool"),
        *("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    )
}


class ModelFormatError(ValueError):
    """Raised for anything wrong with a model file: damage, forgery, a newer format.

    The message says what was expected, what was found and where in the file.
    """


class ModelNotFound(ModelFormatError, FileNotFoundError):
    """Raised when the model file does not exist; it is a FileNotFoundError too."""


def write_container(path: Path, tensors: dict[str, Array], manifest: dict[str, Any]) -> None:
    """Write the file atomically and compare what a reader gets with what was meant.

    The bytes go to a temporary file in the same folder, which replaces `path` only after it has
    been read back: a full disk, a crash or a defect of the writer never leaves half a model.
    """
    text = json.dumps(manifest, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # safetensors 0.8.0 puts the entries of Fortran-ordered and strided arrays out of place.
    plain = {k: np.ascontiguousarray(v).reshape(v.shape) for k, v in tensors.items()}
    if len(text) + 200 * (len(plain) + 1) > HEADER_LIMIT or not _few_containers(text):
        raise ValueError(
            f"Expected labels, names and text samples below {HEADER_LIMIT:,} bytes and "
            f"{CONTAINERS:,} lists, got {len(text):,} bytes. Keep fewer or shorter samples, for "
            "example by a sparse model."
        )
    with replacing(path) as temporary:
        with open(temporary, "wb") as stream:
            stream.write(save(plain, metadata={METADATA_KEY: text}))
            stream.flush()
            os.fsync(stream.fileno())
        again, found = read_container(temporary)
        same = again == manifest and found.keys() == plain.keys()
        if not same or any(not identical(plain[name], found[name]) for name in plain):
            raise ModelFormatError(
                "Expected to read back what was written, got other values: the installed "
                "safetensors or the disk is at fault. Try safetensors 0.7.0, which is known good."
            )


def identical(a: Array, b: Array) -> bool:
    """Return whether two arrays are the same to the last bit, NaN included."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def read_container(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the manifest and the tensors."""
    with _opened(path) as file:
        manifest = manifest_of(file.metadata())
        return manifest, {name: file.get_tensor(name) for name in file.keys()}


def read_header(path: Path) -> tuple[dict[str, Any], dict[str, tuple[str, tuple[int, ...]]]]:
    """Return the manifest and each tensor's type and shape, without reading the tensors."""
    with _opened(path) as file:
        parts = {name: file.get_slice(name) for name in file.keys()}
        shapes = {k: (v.get_dtype(), tuple(v.get_shape())) for k, v in parts.items()}
        return manifest_of(file.metadata()), shapes


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        if not S_ISREG(path.stat().st_mode):  # a device has no end, and a pipe may never begin
            raise ModelFormatError(f"Expected a model file that can be read, got no file: {path}.")
        with safe_open(path, "numpy") as file:  # type: ignore[no-untyped-call]
            yield file
    except FileNotFoundError as error:
        raise ModelNotFound(f"Expected a model file, got nothing at {path}.") from error
    except OSError as error:
        raise ModelFormatError(f"Expected a model file that can be read, got: {error}.") from error
    except SafetensorError as error:
        raise ModelFormatError(
            f"Expected a safetensors file, got one that is damaged or no model file: {short(error)}"
        ) from error


def _few_containers(text: str) -> bool:
    """Return whether JSON text has at most as many objects and lists as may be made of it."""
    found = 0
    for found, _ in enumerate(CONTAINER.finditer(text), 1):
        if found > CONTAINERS:
            return False
    return True


def _too_deep(value: Any) -> bool:
    """Return whether lists and objects are nested past the limit, level by level."""
    level = [value]
    for _ in range(JSON_DEPTH):
        inside = (item.values() if isinstance(item, dict) else item for item in level)
        level = [v for items in inside for v in items if isinstance(v, list | dict)]
        if not level:
            return False
    return True


def parse_json(text: str) -> Any:
    """Return parsed JSON; repeated keys, NaN, and too many or too deep values are refused."""
    if not _few_containers(text):
        raise ModelFormatError(
            f"Expected at most {CONTAINERS:,} lists and objects in the manifest, got more."
        )

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ModelFormatError("Expected each key once in the manifest, got repeated keys.")
        return found

    def no_constant(name: str) -> Any:
        raise ModelFormatError(f"Expected finite numbers in the manifest, got {name}.")

    try:
        found = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
        if isinstance(found, list | dict) and _too_deep(found):
            raise RecursionError  # as json does further out
        return found
    except ModelFormatError:
        raise
    except RecursionError as error:
        raise ModelFormatError(
            f"Expected a manifest at most {JSON_DEPTH} deep, got a deeper one."
        ) from error
    except ValueError as error:
        raise ModelFormatError(f"Expected JSON in the manifest, got: {error}.") from error


def manifest_of(metadata: dict[str, str] | None) -> dict[str, Any]:
    """Return the manifest after checking that it is ours and of a version we know."""
    text = (metadata or {}).get(METADATA_KEY)
    if text is None:
        raise ModelFormatError(
            "Expected a model written by gramsmith, got a safetensors file without its manifest. "
            "Use the program that wrote it."
        )
    manifest = parse_json(text)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFormatError(f"Expected a manifest of the format {FORMAT!r}, got another.")
    version = manifest.get("format_version")
    if type(version) is not int or version < OLDEST:
        raise ModelFormatError(
            f"Expected a format version from {OLDEST} on, got {short(version)}. Rewrite older "
            "files by `gramsmith upgrade` of the release before this one."
        )
    if version > VERSION:
        raise ModelFormatError(
            f"Expected format version {VERSION} or older, got {version}: written by a newer "
            f"gramsmith ({short(manifest.get('gramsmith_version'))}). Upgrade gramsmith to load it."
        )
    return manifest

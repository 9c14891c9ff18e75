"""The file itself: one safetensors container with a JSON manifest in its metadata.

A safetensors file is eight bytes (the length of the header), a JSON header, and the tensors' bytes.
The manifest travels as one string in the header's metadata, so that any safetensors reader can open
the file. Nothing here knows what a model is.
"""

from __future__ import annotations

import json
import os
import secrets
import struct
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FORMAT = "gramsmith-model"
VERSION = 1
METADATA_KEY = "gramsmith"

# The limit of the safetensors library itself.
HEADER_LIMIT = 100_000_000
DEPTH_LIMIT = 64

# What a tensor may be: the safetensors spelling of each NumPy type that models hold.
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U64": np.dtype(np.uint64),
    "U32": np.dtype(np.uint32),
    "U16": np.dtype(np.uint16),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
SPELLING = {dtype: name for name, dtype in DTYPES.items()}


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
    from safetensors.numpy import save

    text = json.dumps(manifest, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    # safetensors 0.8.0 puts the entries of Fortran-ordered and strided arrays out of place.
    plain = {k: np.ascontiguousarray(v).reshape(v.shape) for k, v in tensors.items()}
    if len(text) + 200 * (len(plain) + 1) > HEADER_LIMIT:
        raise ValueError(
            f"Expected labels, names and text samples below {HEADER_LIMIT:,} bytes, got "
            f"{len(text):,}. Keep fewer or shorter text samples, for example by a sparse machine."
        )
    data = save(plain, metadata={METADATA_KEY: text})
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        # O_EXCL: never write through a link that somebody has put in the way
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        again, found = read_container(temporary)
        same = again == manifest and found.keys() == plain.keys()
        if not same or any(not _identical(plain[name], found[name]) for name in plain):
            raise ModelFormatError(
                "Expected to read back what was written, got other values: the installed "
                "safetensors or the disk is at fault. Try safetensors 0.7.0, which is known good."
            )
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _identical(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def read_container(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the manifest and the tensors, whose sizes agree with the file's length."""
    data = _read(path)
    header = parse_header(data[:8], memoryview(data)[8:], len(data))
    length = struct.unpack("<Q", data[:8])[0]
    body = memoryview(data)[8 + length :]
    tensors = {}
    for name, (dtype, shape, begin, end) in tensor_table(header, len(body)).items():
        stored = np.frombuffer(body[begin:end], dtype=dtype.newbyteorder("<"))
        tensors[name] = stored.astype(dtype, copy=False).reshape(shape)
    return manifest_of(header), tensors


def read_header(path: Path) -> tuple[dict[str, Any], dict[str, tuple[str, tuple[int, ...]]]]:
    """Return the manifest and each tensor's type and shape, without reading the tensors."""
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            head = stream.read(8)
            length = min(struct.unpack("<Q", head)[0], HEADER_LIMIT) if len(head) == 8 else 0
            header = parse_header(head, stream.read(length), size)
    except OSError as error:
        _unreadable(path, error)
    length = struct.unpack("<Q", head)[0]
    table = tensor_table(header, size - 8 - length)
    return manifest_of(header), {
        name: (SPELLING[dtype], shape) for name, (dtype, shape, _, _) in table.items()
    }


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        _unreadable(path, error)


def _unreadable(path: Path, error: OSError) -> NoReturn:
    if isinstance(error, FileNotFoundError):
        raise ModelNotFound(f"Expected a model file, got nothing at {path}.") from error
    raise ModelFormatError(f"Expected a model file that can be read, got: {error}.") from error


def parse_header(head: bytes, rest: bytes | memoryview, size: int) -> dict[str, Any]:
    """Return the JSON header, given the first eight bytes and what follows them."""
    if len(head) < 8:
        raise ModelFormatError(
            f"Expected a safetensors file, got only {size} bytes. The file is cut short or empty."
        )
    length = struct.unpack("<Q", head)[0]
    if length > HEADER_LIMIT or 8 + length > size:
        raise ModelFormatError(
            f"Expected a safetensors file, got a header of {length:,} bytes in a file of {size:,}. "
            "This is no model file, or it is damaged."
        )
    header = parse_json(bytes(rest[:length]), "header")
    if not isinstance(header, dict):
        raise ModelFormatError("Expected a JSON object as the header, got something else.")
    return header


def parse_json(text: bytes | str, what: str) -> Any:
    """Return parsed JSON; repeated keys, NaN and nesting past the limit are refused."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ModelFormatError(f"Expected each key once in the {what}, got repeated keys.")
        return found

    def no_constant(name: str) -> Any:
        raise ModelFormatError(f"Expected finite numbers in the {what}, got {name}.")

    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        parsed = json.loads(decoded, object_pairs_hook=unique, parse_constant=no_constant)
    except ModelFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"Expected JSON in the {what}, got: {error}.") from error
    return parsed


def manifest_of(header: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest after checking that it is ours and of a version we know."""
    metadata = header.get("__metadata__")
    text = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFormatError(
            "Expected a model written by gramsmith, got a safetensors file without its manifest. "
            "Use the program that wrote it."
        )
    manifest = parse_json(text, "manifest")
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFormatError(f"Expected a manifest of the format {FORMAT!r}, got another.")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise ModelFormatError(f"Expected a format version from 1 on, got {short(version)}.")
    if version > VERSION:
        raise ModelFormatError(
            f"Expected format version {VERSION} or older, got {short(version)}: written by a "
            f"newer gramsmith ({short(manifest.get('gramsmith_version'))}). Upgrade to load it."
        )
    return manifest


def tensor_table(
    header: dict[str, Any], size: int
) -> dict[str, tuple[np.dtype[Any], tuple[int, ...], int, int]]:
    """Return type, shape and byte range of every tensor; together they fill the file exactly."""
    table = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ModelFormatError(
                f"Expected type, shape and range of tensor {short(name)}, got other."
            )
        dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
        if dtype is None:
            raise ModelFormatError(
                f"Tensor {short(name)}: got the unknown type {short(entry['dtype'])}."
            )
        shape, (begin, end) = whole(entry["shape"], name), whole(entry["data_offsets"], name, 2)
        count = 1
        for axis in shape:
            count *= axis
        if len(shape) > 8 or begin > end or end > size or end - begin != count * dtype.itemsize:
            raise ModelFormatError(
                f"Tensor {short(name)}: the shape {list(shape)} does not fit bytes {begin} to "
                f"{end} of {size}. The file is damaged."
            )
        table[name] = (dtype, shape, begin, end)
    position = 0
    for begin, end in sorted((begin, end) for _, _, begin, end in table.values()):
        if begin != position:
            raise ModelFormatError("Expected tensors side by side, got gaps or overlaps.")
        position = end
    if position != size:
        raise ModelFormatError(
            f"Expected {position:,} bytes of tensors, got {size:,}. The file is damaged."
        )
    return table


def whole(value: Any, name: str, length: int | None = None) -> tuple[int, ...]:
    """Return a list of whole numbers >= 0 below 2^48 as a tuple."""
    if (
        not isinstance(value, list)
        or (length is not None and len(value) != length)
        or any(type(item) is not int or not 0 <= item < 2**48 for item in value)
    ):
        raise ModelFormatError(f"Tensor {short(name)}: expected whole numbers, got {short(value)}.")
    return tuple(value)


def short(value: Any) -> str:
    """Return a value for a message: a forged file cannot fill the screen with it."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

"""Matrices from svmlight, npy and npz files, with every size checked before memory is taken."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from gramsmith.tables.streams import (
    Array,
    DataError,
    Limits,
    open_capped,
    open_file,
    parsing,
    short,
    text_lines,
)


def read_svmlight(path: Path, limits: Limits, base: int | None = None) -> tuple[Any, Array, int]:
    """Return samples, labels and the first index of an svmlight file, which is 0 or 1.

    Samples are dense if most entries are there, else CSR. Without `base`, an index 0 anywhere says
    that indices begin with it.
    """
    from sklearn.datasets import load_svmlight_file

    with parsing(path.name, "svmlight rows"), open_capped(path, limits) as stream:
        try:
            X, y = load_svmlight_file(stream, dtype=np.float64, zero_based=True)
        except ValueError:  # which names no line, so we look ourselves
            _explain(path, limits)
            raise
    if not len(y):
        raise DataError(f"{path.name}: expected rows such as '1 1:0.5 3:2', got none.")
    first = int(X.indices.min(initial=1))
    base = min(first, 1) if base is None else base
    if first < base:
        raise DataError(
            f"{path.name}: expected indices from {base} on as in training, got an index {first}."
        )
    X = sp.csr_array((X.data, X.indices - base, X.indptr), (X.shape[0], max(X.shape[1] - base, 1)))
    limits.check_shape(1, X.shape[1], path.name)
    limits.check_shape(X.shape[0], 1, path.name)
    _check_finite(X, path.name, "Leave absent entries out of the row.")
    y = _finite_labels(y, path.name)
    X.sum_duplicates()
    dense = X.shape[0] * X.shape[1] * 8 <= 3 * (X.data.nbytes + X.indices.nbytes)
    return (X.toarray() if dense else X), y, base


def _explain(path: Path, limits: Limits) -> None:
    """Raise DataError at the first line that is no svmlight row."""
    with open_capped(path, limits) as stream:
        for number, line in enumerate(text_lines(stream, path.name), start=1):
            label, *pairs = line.partition("#")[0].split() or [""]
            where, previous = f"{path.name}, line {number}", -1
            parts = [("qid", ":", label or "0"), *(pair.partition(":") for pair in pairs)]
            for index, colon, cell in parts:
                try:
                    float(cell if colon else 0)
                except ValueError as error:
                    raise DataError(f"{where}: expected a number, got {short(cell)}.") from error
                if index == "qid" and colon:
                    continue
                if not (colon and index.isdigit() and previous < int(index) < 2**31):
                    raise DataError(
                        f"{where}: expected 'index:value' with rising indices, got "
                        f"{short(index + colon + cell)}."
                    )
                previous = int(index)


def read_npz(path: Path, target: str, limits: Limits) -> tuple[Array, Array | None]:
    """Return the arrays X and `target` of an npz file; X may be the only matrix of another name."""
    with (
        parsing(path.name, "an npz file"),
        open_file(path) as stream,
        zipfile.ZipFile(stream) as archive,
    ):
        names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        samples = "X" if "X" in names else _only_matrix(archive, names, target, path.name)
        found = {}
        for name in {samples, target} & names.keys():
            limits.check_bytes(names[name].file_size, path.name)  # never is more unpacked
            data = archive.read(names[name])
            found[name] = parse_npy(data, f"{path.name}, array {name}", limits)
    y = check_labels(found.get(target), path.name)
    return check_samples(found[samples], path.name, limits), y


def _only_matrix(
    archive: zipfile.ZipFile, names: dict[str, zipfile.ZipInfo], target: str, where: str
) -> str:
    """Return the name of the one matrix of an archive, apart from the target."""
    shapes = {}
    for name, info in names.items():
        with archive.open(info) as member:
            shapes[name] = _read_header(member, f"{where}, array {name}")[0]
    matrices = [name for name, shape in shapes.items() if len(shape) == 2 and name != target]
    if len(matrices) != 1:
        listed = ", ".join(f"{short(name)} of shape {shape}" for name, shape in shapes.items())
        raise DataError(
            f"{where}: expected an array X, or one matrix beside {short(target)}, got "
            f"{listed or 'no arrays'}. Write the file with numpy.savez(path, X=X, y=y)."
        )
    return matrices[0]


def read_npy(path: Path, target: str | None, limits: Limits) -> tuple[Array, Array | None]:
    """Return the matrix of an npy file; a column number as `target` is taken out as labels."""
    with open_capped(path, limits) as stream:
        X = check_samples(parse_npy(stream.read(), path.name, limits), path.name, limits)
    if target is None:
        return X, None
    try:
        column = int(target)
        labels = X[:, column]
    except (ValueError, IndexError) as error:
        raise DataError(
            f"{path.name}: expected a column number below {X.shape[-1]} as the target of an npy "
            f"file, got {short(target)}.",
            "Or give the labels in a file of their own.",
            "npy target",
        ) from error
    return np.delete(X, column, axis=1), labels


def parse_npy(data: bytes, where: str, limits: Limits) -> Array:
    """Return the array in npy bytes; its header is believed only as far as the bytes go."""
    limits.check_bytes(len(data), where)
    stream = io.BytesIO(data)
    shape, dtype = _read_header(stream, where)
    if dtype.hasobject or dtype.kind not in "fiubUS":
        raise DataError(
            f"{where}: expected numbers or texts, got {dtype}. Objects would need pickle, which "
            "can run code: convert them first."
        )
    body = data[stream.tell() :]
    count = 1
    for axis in shape:
        count *= axis
    if count * dtype.itemsize != len(body):
        raise DataError(
            f"{where}: expected {count * dtype.itemsize:,} bytes for shape {shape}, got "
            f"{len(body):,}."
        )
    if not count * dtype.itemsize:
        raise DataError(f"{where}: expected entries, got an empty array of shape {shape}.")
    limits.check_shape(shape[0], 1, where)
    with parsing(where, "an npy array"):
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))


def _read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], Any]:
    """Return shape and type as the head of npy bytes claims them."""
    with parsing(where, "an npy array"):
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, dtype = read(stream)
        if any(type(axis) is not int or axis < 0 for axis in shape):
            raise ValueError(f"the shape {shape}")
        return shape, dtype


def check_samples(X: Array, where: str, limits: Limits) -> Array:
    """Return a matrix of numbers, NaN where they are missing, or a vector of texts."""
    if X.dtype.kind in "US" and X.ndim == 1:
        return X.astype(str)
    if X.ndim != 2 or X.dtype.kind in "US":
        raise DataError(
            f"{where}: expected a matrix of numbers (rows are samples), got {X.dtype} of shape "
            f"{X.shape}."
        )
    limits.check_shape(X.shape[0], X.shape[1], where)
    X = np.array(X, dtype=np.float64)
    _check_finite(X, where, "Correct it, or make it NaN.")
    return X


def _check_finite(X: Any, where: str, advice: str) -> None:
    rows, columns = (abs(X) == np.inf).nonzero()  # of dense and sparse ones
    if len(rows):
        raise DataError(
            f"{where}, row {rows[0] + 1}, column {columns[0] + 1}: expected a finite number, got "
            f"{X[rows[0], columns[0]]} ({len(rows)} such in all).",
            advice,
        )


def check_labels(y: Array | None, where: str) -> Array | None:
    """Return labels as floats or as texts."""
    if y is None:
        return None
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.ndim != 1:
        raise DataError(f"{where}: expected one label per row, got labels of shape {y.shape}.")
    if y.dtype.kind in "US":
        return y.astype(str).astype(object)
    return _finite_labels(y.astype(np.float64), where)


def _finite_labels(y: Array, where: str) -> Array:
    """Return labels, of which some may be missing but none infinite."""
    if np.isinf(y).any():
        row = int(np.flatnonzero(np.isinf(y))[0]) + 1
        raise DataError(f"{where}, row {row}: expected a finite label, got {y[row - 1]}.")
    return y

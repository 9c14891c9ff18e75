"""Matrices from svmlight, npy and npz files, with every size checked before memory is taken."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from gramsmith.storage.container import Array, short
from gramsmith.storage.streams import DataError, Limits, open_capped, open_file, text_lines


def read_svmlight(path: Path, limits: Limits) -> tuple[Any, Array]:
    """Return samples and labels of an svmlight file: dense if most entries are there, else CSR."""
    from sklearn.datasets import load_svmlight_file

    try:
        with open_capped(path, limits) as stream:
            X, y = load_svmlight_file(stream, dtype=np.float64)
    except DataError:
        raise
    except Exception as error:  # scikit-learn's parser names no line, so we look ourselves
        _explain(path, limits)
        raise DataError(
            f"{path.name}: expected svmlight rows, got: {short(str(error))}."
        ) from error
    if not len(y):
        raise DataError(f"{path.name}: expected rows such as '1 1:0.5 3:2', got none.")
    limits.check_shape(X.shape[0], X.shape[1], path.name)
    bad = ~np.isfinite(X.data)
    if bad.any():
        rows, columns = (coordinate[bad] for coordinate in X.tocoo().coords)
        raise DataError(
            f"{path.name}, row {rows[0] + 1}, column {columns[0] + 1}: expected a finite number, "
            "got "
            f"{X.data[bad][0]}. Leave absent entries out of the row."
        )
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0]) + 1
        raise DataError(f"{path.name}, row {row}: expected a finite label, got {y[row - 1]}.")
    X.sum_duplicates()
    dense = X.shape[0] * X.shape[1] * 8 <= 3 * (X.data.nbytes + X.indices.nbytes)
    return (X.toarray() if dense else sp.csr_array(X)), y


def _explain(path: Path, limits: Limits) -> None:
    """Raise DataError at the first line that is no svmlight row."""
    with open_capped(path, limits) as stream:
        for number, line in enumerate(text_lines(stream, path.name), start=1):
            label, *pairs = line.partition("#")[0].split() or [""]
            if not label:
                continue
            previous = -1
            for cell in (label, *(part for pair in pairs for part in pair.split(":", 1)[1:])):
                _float(cell, f"{path.name}, line {number}")
            for pair in pairs:
                index, colon, _ = pair.partition(":")
                if index == "qid":
                    continue
                rising = colon and index.isdigit() and int(index) > previous
                if not rising or int(index) >= 2**31:
                    raise DataError(
                        f"{path.name}, line {number}: expected 'index:value' with rising indices, "
                        f"got {short(pair)}."
                    )
                previous = int(index)


def _float(cell: str, where: str) -> None:
    try:
        float(cell)
    except ValueError as error:
        raise DataError(f"{where}: expected a number, got {short(cell)}.") from error


def read_npz(path: Path, target: str, limits: Limits) -> tuple[Array, Array | None]:
    """Return the arrays X and `target` of an npz file."""
    try:
        with open_file(path) as stream, zipfile.ZipFile(stream) as archive:
            names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if "X" not in names:
                raise DataError(
                    f"{path.name}: expected an array X, got {short(sorted(names))}. "
                    "Write the file with numpy.savez(path, X=X, y=y)."
                )
            found = {}
            for name in {"X", target} & names.keys():
                with archive.open(names[name]) as member:
                    data = member.read(limits.bytes + 1)
                found[name] = parse_npy(data, f"{path.name}, array {name}", limits)
    except DataError:
        raise
    except Exception as error:  # damaged archives fail wherever they are damaged
        raise DataError(f"{path.name}: expected an npz file, got: {error}.") from error
    return check_samples(found["X"], path.name, limits), check_labels(found.get(target), path.name)


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
            "file, "
            f"got {short(target)}. Or give the labels in a file of their own with --labels."
        ) from error
    return np.delete(X, column, axis=1), labels


def parse_npy(data: bytes, where: str, limits: Limits) -> Array:
    """Return the array in npy bytes; its header is believed only as far as the bytes go."""
    if len(data) > limits.bytes:
        raise DataError(
            f"{where}: expected at most {limits.bytes:,} bytes, got more. Raise --max-bytes if "
            "this "
            "is meant."
        )
    stream = io.BytesIO(data)
    try:
        version = npy.read_magic(stream)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(stream)
    except Exception as error:  # NumPy's parser of headers fails in many ways on forged ones
        raise DataError(f"{where}: expected an npy array, got: {short(str(error))}.") from error
    if dtype.hasobject or dtype.kind not in "fiubUS":
        raise DataError(
            f"{where}: expected numbers or texts, got {dtype}. Objects would need pickle, which "
            "can "
            "run code: convert them first."
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
    if not count:
        raise DataError(f"{where}: expected entries, got an empty array of shape {shape}.")
    flat = np.frombuffer(body, dtype=dtype)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def check_samples(X: Array, where: str, limits: Limits) -> Array:
    """Return a matrix of finite numbers, or a vector of texts."""
    if X.dtype.kind in "US" and X.ndim == 1:
        return X.astype(str)
    if X.ndim != 2 or X.dtype.kind in "US":
        raise DataError(
            f"{where}: expected a matrix of numbers (rows are samples), got {X.dtype} of shape "
            f"{X.shape}."
        )
    limits.check_shape(X.shape[0], X.shape[1], where)
    X = np.array(X, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0]
        raise DataError(
            f"{where}, row {row + 1}, column {column + 1}: expected a finite number, got "
            f"{X[row, column]} ({len(bad)} such in all). Drop or impute these first."
        )
    return X


def check_labels(y: Array | None, where: str) -> Array | None:
    """Return labels as floats or as texts."""
    if y is None:
        return None
    y = y.ravel() if y.ndim == 2 and 1 in y.shape else y
    if y.ndim != 1:
        raise DataError(f"{where}: expected one label per row, got labels of shape {y.shape}.")
    if y.dtype.kind in "US":
        return y.astype(str).astype(object)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0]) + 1
        raise DataError(f"{where}, row {row}: expected a finite label, got {y[row - 1]}.")
    return y.astype(np.float64)

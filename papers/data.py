"""Data sets from a folder: plain files whose content is checked before it is used.

``DataFolder(path).load(name)`` returns a `DataSet`. A file is recognised by the SHA-256 of what it
holds (the decompressed text, or the arrays of an npz), so it may have been packed by anybody.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file

Array = npt.NDArray[Any]

UNREADABLE = (OSError, EOFError, ValueError, MemoryError, zlib.error, zipfile.BadZipFile)
LIMIT = 64 * 2**20  # bytes after decompression; the largest known set has 3 MB
IDA = "the IDA benchmark collection of G. Raetsch (split files of its realisations)"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"


class DataError(ValueError):
    """Raised when a data set is missing, damaged or not the published one."""


@dataclass(frozen=True)
class Source:
    """Where a data set lies in the folder, what it must contain and who publishes it.

    Parameters
    ----------
    files : dict
        Path inside the folder -> SHA-256 of the content.
    published : str
    place : str
        How to prepare the files.
    shape : tuple of int
        Rows and features.
    """

    files: dict[str, str]
    published: str
    place: str
    shape: tuple[int, int]


@dataclass(frozen=True)
class DataSet:
    """A data set.

    Parameters
    ----------
    name : str
    X : array of shape (n, p)
    y : array of shape (n,)
    train, test : array of shape (realisations, rows) or None
        Row numbers of the published splits.
    texts : list of str
        Documents, for sets of texts.
    """

    name: str
    X: Array
    y: Array
    train: Array | None = None
    test: Array | None = None
    texts: list[str] = field(default_factory=list)

    def split(self, realisation: int) -> tuple[Array, Array, Array, Array]:
        """Return X and y for training, X and y for testing of a published split."""
        if self.train is None or self.test is None:
            raise DataError(f"Expected {self.name} to come with splits, got none.")
        i, j = self.train[realisation], self.test[realisation]
        return self.X[i], self.y[i], self.X[j], self.y[j]


def _ida(name: str, digest: str, shape: tuple[int, int]) -> Source:
    place = (
        f"save X ({shape[0]} x {shape[1]}, float64), y (int8, +1/-1), train and test "
        "(uint16, one row "
        f"of row numbers per realisation) with numpy.savez_compressed as {name}/{name}.npz"
    )
    return Source({f"{name}/{name}.npz": digest}, IDA, place, shape)


def _svm(name: str, digest: str, shape: tuple[int, int], suffix: str = "_scale") -> Source:
    path = f"{name}/{name}{suffix}.svm.gz"
    how = "the file scaled to [-1, 1] per feature" if suffix else "the file of 0/1 columns"
    return Source({path: digest}, LIBSVM, f"gzip {how} as {path}", shape)


# Every content has its SHA-256, see `read_content`.
SOURCES: dict[str, Source] = {
    "ringnorm": _ida(
        "ringnorm", "510d09390e025684122d123daa5ec3236a16f1924602cc62fff826d6a618eb3f", (7400, 20)
    ),
    "thyroid": _ida(
        "thyroid", "f6718168bf6b328cdbcebed04c04e48454607ecab5b58140a6658aae03959579", (215, 5)
    ),
    "titanic": _ida(
        "titanic", "beb3bb62457516d9976ba43e99815f1e3b45c66c5b006d18fd233efd347a7fb7", (2201, 3)
    ),
    "waveform": _ida(
        "waveform", "f11f3192e3cd90994e136de090038412aaae5b001f0fb8d07e02b2654841c77e", (5000, 21)
    ),
    "usps": Source(
        {"usps/usps.npz": "603de3c60b2917cb645473035022f6cc85d8ea058690959740f1b6879c175384"},
        "S. Roweis's usps_all.mat (https://cs.nyu.edu/~roweis/data.html)",
        "save X (11000 x 256, uint8, upright images) and y (uint8, the digit) in the order of the "
        "source with numpy.savez_compressed as usps/usps.npz",
        (11000, 256),
    ),
    "med": Source(
        {
            "med/docs.txt.gz": "c547197392d1834108652c009f109786d79a4e48ccc798680726008ca43cded8",
            "med/rel.npz": "ce19b36fa5254f21332543a9eff7ba9cd030abaef17b459412d6f2787d933677",
        },
        "the MED files of the SMART collections "
        "(https://ir.dcs.gla.ac.uk/resources/test_collections)",
        "write document i on line i of med/docs.txt.gz and save the 1033 x 30 matrix rel of "
        "relevance to the queries as med/rel.npz",
        (1033, 30),
    ),
    "auto-mpg": Source(
        {
            "auto-mpg/auto-mpg.csv.gz": (
                "0f4dc6964316e4f8fe3bd17434d733196e999c0c761ed796fe419483e5d45858"
            )
        },
        "https://archive.ics.uci.edu/dataset/9/auto+mpg",
        "write the columns mpg, cylinders, displacement, horsepower, weight, acceleration, "
        "model_year, origin, name with a header as auto-mpg/auto-mpg.csv.gz",
        (392, 6),
    ),
    "australian": _svm(
        "australian", "afdad9688b24bbc37b3f442434d5bf9fd06b18561198954eb55e9fa5eb2ae6e7", (690, 14)
    ),
    "breast-cancer": _svm(
        "breast-cancer",
        "8fe6bce62147e0715a192378d29acf839b4a8a71d75ae4c88245a3526c20a6e4",
        (683, 10),
    ),
    "diabetes": _svm(
        "diabetes", "0c07eb4c49e7a8ffb9c9f25095ac3022df2ca85b0dcb7d294c3ddea69f392cba", (768, 8)
    ),
    "fourclass": _svm(
        "fourclass", "e27b003cd53d3141f8266b7e1db0d43e69f2824cc94c1d885fb27c8f2145a511", (862, 2)
    ),
    "german.numer": _svm(
        "german.numer",
        "07c73a1f7937dc660aca5de5783c980697ab093dbd4705c580d298788a3554f5",
        (1000, 24),
    ),
    "heart": _svm(
        "heart", "5defa0a4c4c5bdaf3f55ae3828310252e8565c13ee37ce279e0b86d82e7f4ce9", (270, 13)
    ),
    "ionosphere": _svm(
        "ionosphere", "e70ce2ee58a3c59979cd77b34ca2d157489b1cd096afc0968c661b32aac95da7", (351, 34)
    ),
    "mushrooms": _svm(
        "mushrooms",
        "6e3cada8c4d0405913448d8612f4ce578d22411cec6b4d4aa4473eeabda5d249",
        (8124, 112),
        "",
    ),
    "vehicle": _svm(
        "vehicle", "f5bcfc5545c0f674b372e8dc3e41752efa287d4e04cb920150c51cd9c3df7b86", (846, 18)
    ),
}


class DataFolder:
    """A folder of data sets, or none.

    Parameters
    ----------
    path : str or Path, optional
        Default: the environment variable GRAMSMITH_DATA; without it no set is found.

    Examples
    --------
    >>> from papers.data import DataFolder, DataError
    >>> try:
    ...     DataFolder("/no/such/folder").load("usps")
    ... except DataError as error:
    ...     print(str(error)[:44])
    Expected the data set usps in /no/such/folde
    """

    def __init__(self, path: str | Path | None = None) -> None:
        named = os.environ.get("GRAMSMITH_DATA") if path is None else path
        self.path = Path(named) if named else None

    def load(self, name: str, grouping: tuple[int, ...] = (1, 2)) -> DataSet:
        """Return a data set, or raise `DataError` with what to do.

        `grouping` has the classes of vehicle that make up +1; the default was fitted.
        """
        if name not in SOURCES:
            raise DataError(f"Expected a data set among {', '.join(SOURCES)}, got {name!r}.")
        source = SOURCES[name]
        content: dict[str, Any] = {}
        for file, expected in source.files.items():
            content[file] = self._read(name, source, file, expected)
        data = READERS[name](name, list(content.values()))
        if data.X.shape != source.shape and not data.texts:
            raise DataError(
                f"Expected {name} of shape {source.shape}, got {data.X.shape}. Replace "
                f"{', '.join(source.files)} in {self.path}."
            )
        if name == "vehicle":
            data = replace(data, y=np.where(np.isin(data.y, grouping), 1, -1))
        return data

    def _read(self, name: str, source: Source, file: str, expected: str) -> Any:
        if self.path is None:
            raise DataError(
                f"Expected the data set {name}, got no data folder. Set "
                "GRAMSMITH_DATA or --data DIR. "
                f"It is published in {source.published}; {source.place} inside that folder."
            )
        path = self.path / file
        if not path.is_file():
            raise DataError(
                f"Expected the data set {name} in {path}, got no such file. It is published in "
                f"{source.published}; {source.place} inside the data folder."
            )
        try:
            content, digest = read_content(path)
        except UNREADABLE as error:
            raise DataError(
                f"Expected {path} to be readable, got {type(error).__name__}: {error}. "
                "The file is damaged; copy it again."
            ) from error
        if digest != expected:
            raise DataError(
                f"Expected {path} with the content SHA-256 {expected[:16]}..., got "
                f"{digest[:16]}.... "
                "The file is damaged or another version; copy it again, or prepare it as the "
                "documentation says."
            )
        return content


def read_content(path: Path) -> tuple[Any, str]:
    """Return the text or the arrays of a file, and the SHA-256 of that content.

    Parameters
    ----------
    path : Path
        A .npz, .gz or plain text file.

    Returns
    -------
    content : bytes, or dict of arrays
    digest : str
    """
    if path.stat().st_size > LIMIT:
        raise ValueError(f"expected at most {LIMIT} bytes, got {path.stat().st_size}")
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        digest = hashlib.sha256()
        for key in sorted(key for key, A in arrays.items() if A.dtype.kind in "iuf"):  # not names
            A = np.ascontiguousarray(arrays[key])
            digest.update(f"{key} {A.dtype.str} {A.shape};".encode())
            digest.update(A.tobytes())
        return arrays, digest.hexdigest()
    if path.suffix == ".gz":
        with gzip.open(path) as stream:
            text = stream.read(LIMIT + 1)
    else:
        text = path.read_bytes()
    if len(text) > LIMIT:
        raise ValueError(f"expected at most {LIMIT} bytes of text, got more")
    return text, hashlib.sha256(text.replace(b"\r\n", b"\n")).hexdigest()


def _read_ida(name: str, content: list[Any]) -> DataSet:
    z = content[0]
    return DataSet(name, z["X"].astype(float), z["y"].astype(int), z["train"], z["test"])


def _read_usps(name: str, content: list[Any]) -> DataSet:
    return DataSet(name, content[0]["X"].astype(float), content[0]["y"].astype(int))


def _read_svm(name: str, content: list[Any]) -> DataSet:
    X, y = load_svmlight_file(io.BytesIO(content[0]), n_features=SOURCES[name].shape[1])
    return DataSet(name, X.toarray(), y.astype(int))


def _read_med(name: str, content: list[Any]) -> DataSet:
    texts = content[0].decode("utf-8").splitlines()
    relevant = content[1]["rel"]
    return DataSet(name, relevant.astype(float), np.where(relevant[:, 19] == 1, 1, -1), texts=texts)


def _read_mpg(name: str, content: list[Any]) -> DataSet:
    rows = list(csv.reader(io.StringIO(content[0].decode("utf-8"))))[1:]
    complete = [row for row in rows if all(cell not in ("", "NA", "?") for cell in row[:7])]
    table = np.array([row[:7] for row in complete], dtype=float)
    return DataSet(name, table[:, 1:], table[:, 0])


READERS: dict[str, Callable[[str, list[Any]], DataSet]] = {
    **dict.fromkeys(SOURCES, _read_svm),
    **dict.fromkeys(("ringnorm", "thyroid", "titanic", "waveform"), _read_ida),
    "usps": _read_usps,
    "med": _read_med,
    "auto-mpg": _read_mpg,
}

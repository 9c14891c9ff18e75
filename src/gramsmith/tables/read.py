"""Tables from files of many kinds: csv, tsv, parquet, svmlight, npz, npy, FASTA."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.tables.arrays import read_npy, read_npz, read_svmlight
from gramsmith.tables.columnar import read_parquet
from gramsmith.tables.delimited import read_delimited
from gramsmith.tables.fasta import read_fasta
from gramsmith.tables.streams import Array, DataError, Limits, short

FORMATS = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"},
    **{".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"},
    **{".npz": "npz", ".npy": "npy"},
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna", ".ffn"), "fasta"),
}
MAX_CATEGORIES = 100


@dataclass(frozen=True)
class Table:
    """Samples and, where the file has them, their labels.

    Attributes
    ----------
    name : str
        Name of the file.
    columns : dict of str to array
        Named columns: float64 numbers, or texts as objects. Empty when `samples` is given.
    samples : array, CSR matrix or list of str, optional
        Samples without column names.
    labels : array of shape (n,), optional
        The target: floats, or texts as objects.
    target : str, optional
        Name of the target.
    strings : str, optional
        The column that the samples were, if they are strings from a table.
    identifiers : list of str, optional
        Names of the samples, where the format has them.
    nominal : bool
        Whether the labels were declared to be categories, numbers included.
    """

    name: str
    columns: Mapping[str, Array] = field(default_factory=dict)
    samples: Any = None
    labels: Array | None = None
    target: str | None = None
    strings: str | None = None
    identifiers: list[str] | None = None
    nominal: bool = False

    @property
    def n_rows(self) -> int:
        """The number of samples."""
        if self.samples is None:
            return len(next(iter(self.columns.values()), ()))
        return self.samples.shape[0] if hasattr(self.samples, "shape") else len(self.samples)

    @property
    def n_columns(self) -> int:
        """The number of inputs; 1 for strings."""
        if self.samples is None:
            return len(self.columns)
        return self.samples.shape[1] if getattr(self.samples, "ndim", 1) == 2 else 1

    @property
    def kind(self) -> str:
        """Whether samples are rows of a "table", of a "matrix", or "strings"."""
        if self.samples is None:
            return "table"
        return "matrix" if getattr(self.samples, "ndim", 1) == 2 else "strings"

    def inputs(self) -> Any:
        """Return what estimators take: a data frame, a matrix or a list of strings."""
        if self.samples is not None:
            return self.samples
        import pandas

        return pandas.DataFrame(dict(self.columns))

    def take(self, rows: Array) -> Table:
        """Return the table with some of its rows."""
        samples = self.samples
        if samples is not None:
            samples = samples[rows] if hasattr(samples, "shape") else [samples[i] for i in rows]
        labels = None if self.labels is None else self.labels[rows]
        named = None if self.identifiers is None else [self.identifiers[i] for i in rows]
        columns = {name: column[rows] for name, column in self.columns.items()}
        return replace(self, columns=columns, samples=samples, labels=labels, identifiers=named)


def read_table(
    path: str | Path,
    *,
    format: str | None = None,
    target: str | None = None,
    labels: str | Path | None = None,
    delimiter: str | None = None,
    header: bool = True,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    strings: str | None = None,
    kinds: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Table:
    r"""Read samples and labels from a file.

    Parameters
    ----------
    path : str or path
        Plain or gzipped.
    format : {"csv", "tsv", "parquet", "svmlight", "npz", "npy", "fasta"}, optional
        Default: by the file's name.
    target : str, optional
        The column to predict; for npz the array's name, for npy a column number. None reads
        inputs only.
    labels : str or path, optional
        A csv or tsv file with the labels of a FASTA or npy file: identifiers and labels, or
        labels only.
    delimiter : str, optional
        Default: comma for csv, tab for tsv.
    header : bool, default=True
        Whether the first line of a csv or tsv file has the column names.
    drop : sequence of str
        Columns to leave out.
    categorical : sequence of str
        Columns to read as text though they hold numbers. A target among them has classes only,
        and words such as NA or none are classes too.
    strings : str, optional
        The one text column whose strings are the samples.
    kinds : mapping of str to {"number", "text"}, optional
        Kinds of columns that are known beforehand.
    limits : Limits, optional
        Caps on rows, columns and bytes.

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gramsmith.tables.read import read_table
    >>> path = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = path.write_text("a,b,y\n1,red,no\n2,blue,yes\n")
    >>> table = read_table(path, target="y")
    >>> table.columns["a"], list(table.columns["b"]), list(table.labels)
    (array([1., 2.]), ['red', 'blue'], ['no', 'yes'])
    """
    path, limits = Path(path), limits or Limits()
    if path.is_dir():
        raise DataError(f"Expected a file, got the folder {path}. Name a file inside it.")
    kind = format or guess_format(path)
    if labels is not None and kind not in ("fasta", "npy"):
        raise DataError(
            f"{path.name}: --labels goes with FASTA and npy files; in a {kind} file the labels are "
            "part of the file. Name them with --target."
        )
    if kind in ("csv", "tsv", "parquet"):
        if kind == "parquet":
            columns = read_parquet(path, limits, texts=[*categorical, *_listed(strings)])
        else:
            parted = delimiter or ("," if kind == "csv" else "\t")
            texts = [*categorical, *_listed(strings), *_listed(target)]
            literal = [name for name in _listed(target) if name in categorical]
            columns = read_delimited(
                path, parted, limits, header=header, texts=texts, kinds=kinds, literal=literal
            )
        return _select(path.name, columns, target, drop, strings, categorical)
    if kind == "fasta":
        return _fasta(path, labels, limits, categorical)
    samples: Any
    found: Array | None
    named = target or "y"
    if kind == "svmlight":
        samples, found = read_svmlight(path, limits)
    elif kind == "npz":
        samples, found = read_npz(path, named, limits)
    else:
        samples, found = read_npy(path, target, limits)
        if labels is not None:
            _, named, found = read_labels(labels, limits, categorical)
    if found is not None and len(found) != samples.shape[0]:
        raise DataError(
            f"{path.name}: expected one label per row, got {samples.shape[0]} rows and "
            f"{len(found)} labels."
        )
    listed = samples.tolist() if samples.ndim == 1 else samples
    return Table(
        path.name, samples=listed, labels=found, target=named, nominal=named in categorical
    )


def guess_format(path: Path) -> str:
    """Return the format a file's name stands for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(
            f"Expected a file named like {', '.join(sorted(FORMATS))} (or these with .gz), got "
            f"{path.name!r}. Say what it is with --format."
        )
    return FORMATS[suffixes[-1]]


def _listed(name: str | None) -> list[str]:
    return [] if name is None else [name]


def nearest(name: str, names: Sequence[str]) -> str:
    """Return a clause that offers the names most like the one asked for."""
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    close = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(short(folded[c]) for c in close)}?"
    shown = ", ".join(short(candidate) for candidate in names[:10])
    return f"The columns are {shown}{', ...' if len(names) > 10 else ''}."


def _select(
    where: str,
    columns: dict[str, Array],
    target: str | None,
    drop: Sequence[str],
    strings: str | None,
    categorical: Sequence[str],
) -> Table:
    for name in [*_listed(target), *drop, *_listed(strings), *categorical]:
        if name not in columns:
            names = list(columns)
            raise DataError(
                f"{where}: expected a column {short(name)}, got none. {nearest(name, names)}"
            )
    labels = None if target is None else columns[target]
    goal: dict[str, Any] = {"labels": labels, "target": target, "nominal": target in categorical}
    inputs = {name: c for name, c in columns.items() if name != target and name not in drop}
    if not inputs:
        raise DataError(f"{where}: expected at least one input column, got none beside the target.")
    wordy = [name for name, c in inputs.items() if c.dtype == object and _is_wordy(c)]
    if strings is None and len(inputs) == 1 and wordy:
        strings = wordy[0]
    if strings is not None:
        samples = inputs[strings].tolist()
        return Table(where, samples=samples, strings=strings, **goal)
    for name in wordy:
        count = len({cell for cell in inputs[name] if cell is not None})
        raise DataError(
            f"{where}, column {short(name)}: expected numbers or at most {MAX_CATEGORIES} "
            "categories, "
            f"got {count} different texts. Leave the column out with --drop, or compare its texts "
            "by "
            "string kernels with --strings."
        )
    return Table(where, columns=inputs, **goal)


def _is_wordy(column: Array) -> bool:
    return len({cell for cell in column if cell is not None}) > MAX_CATEGORIES


def _fasta(
    path: Path, labels: str | Path | None, limits: Limits, categorical: Sequence[str]
) -> Table:
    records = list(islice(read_fasta(path, max_bytes=limits.bytes), limits.rows + 1))
    limits.check_shape(len(records), 1, path.name)
    identifiers, sequences = [r[0] for r in records], [r[1] for r in records]
    table = Table(path.name, samples=sequences, identifiers=identifiers)
    if labels is None:
        return table
    named, target, values = read_labels(labels, limits, categorical)
    table = replace(table, target=target, nominal=target in categorical)
    if named is None:
        if len(values) != len(sequences):
            raise DataError(
                f"{path.name}: got {len(sequences)} sequences and {len(values)} labels. "
                "Give one label per sequence, or identifiers beside the labels."
            )
        return replace(table, labels=values)
    known = dict(zip(named, values, strict=True))
    absent = [name for name in identifiers if name not in known]
    if absent:
        raise DataError(
            f"{path.name}: expected a label for every sequence, got none for {short(absent[0])}"
            f"{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}."
        )
    return replace(table, labels=np.array([known[name] for name in identifiers], dtype=object))


def read_labels(
    path: str | Path, limits: Limits, categorical: Sequence[str] = ()
) -> tuple[list[str] | None, str, Array]:
    """Return identifiers (None if there are none), name and values of the labels in a csv file."""
    path = Path(path)
    delimiter = "\t" if guess_format(path) == "tsv" else ","
    found = read_delimited(path, delimiter, limits, literal=categorical, all_text=True)
    columns = list(found.values())
    if len(columns) not in (1, 2):
        raise DataError(
            f"{path.name}: expected one column of labels, or identifiers and labels, got "
            f"{len(columns)} columns."
        )
    identifiers = columns[0].tolist() if len(columns) == 2 else None
    if identifiers is not None and len(set(identifiers)) != len(identifiers):
        raise DataError(f"{path.name}: expected every identifier once, got repeated ones.")
    return identifiers, list(found)[-1], columns[-1]

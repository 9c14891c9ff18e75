"""Tables from files of many kinds: csv, tsv, parquet, feather, xlsx, svmlight, npz, npy, FASTA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gramsmith.arguments import counted
from gramsmith.tables.arrays import read_npy, read_npz, read_svmlight
from gramsmith.tables.columnar import read_feather, read_parquet, read_xlsx
from gramsmith.tables.delimited import Writing, read_delimited
from gramsmith.tables.fasta import read_fasta
from gramsmith.tables.names import nearest
from gramsmith.tables.streams import Array, DataError, Limits, as_file, short

FORMATS = {
    **{".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"},
    **{".feather": "feather", ".arrow": "feather", ".xlsx": "xlsx"},
    **{".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight"},
    **{".npz": "npz", ".npy": "npy"},
    **dict.fromkeys((".fasta", ".fa", ".faa", ".fna", ".ffn"), "fasta"),
}
COLUMNAR = {"parquet": read_parquet, "feather": read_feather, "xlsx": read_xlsx}


@dataclass(frozen=True)
class Table:
    """Samples and, where the file has them, their labels.

    Attributes
    ----------
    name : str
        Name of the file.
    columns : dict of str to array
        Named columns: float64, bool, datetime64[us], or texts as objects. Empty when `samples` is
        given.
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
    note : str
        How the file was read, such as what parts its columns.
    """

    name: str
    columns: Mapping[str, Array] = field(default_factory=dict)
    samples: Any = None
    labels: Array | None = None
    target: str | None = None
    strings: str | None = None
    identifiers: list[str] | None = None
    nominal: bool = False
    note: str = ""

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
    writing: Writing | None = None,
    drop: Sequence[str] = (),
    texts: Sequence[str] = (),
    numbers: Sequence[str] = (),
    nominal: bool = False,
    strings: str | None = None,
    limits: Limits | None = None,
) -> Table:
    r"""Read samples and labels from a file.

    Parameters
    ----------
    path : str or path
        Plain, gzipped or zstandard; - is the standard input.
    format : str, optional
        csv, tsv, parquet, feather, xlsx, svmlight, npz, npy or fasta. Default: by the file's name;
        csv for the standard input.
    target : str, optional
        The column to predict; for npz the array's name, for npy a column number. None reads
        inputs only.
    labels : str or path, optional
        A csv or tsv file with the labels of a FASTA or npy file: identifiers and labels, or
        labels only.
    writing : Writing, optional
        How a csv or tsv file was written: delimiter, header, decimal mark, encoding.
    drop : sequence of str
        Columns to leave out.
    texts : sequence of str
        Columns to keep as they are written though they hold numbers.
    numbers : sequence of str
        Columns of numbers: a word in one of them is read as missing, with a warning.
    nominal : bool
        Whether the target has classes only: words such as NA or none are classes too.
    strings : str, optional
        The one text column whose strings are the samples.
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
    limits = limits or Limits()
    writing = writing or Writing()
    if Path(path).is_dir():
        raise DataError(f"Expected a file, got the folder {path}. Name a file inside it.")
    kind = format or ("csv" if str(path) == "-" else guess_format(Path(path)))
    if labels is not None and kind not in ("fasta", "npy"):
        raise DataError(
            f"{path}: --labels goes with FASTA and npy files; in a {kind} file the labels are "
            "part of the file. Name them with --target."
        )
    with as_file(path, limits) as file:
        return _read(
            file, kind, target, labels, writing, drop, texts, numbers, nominal, strings, limits
        )


def _read(
    path: Path,
    kind: str,
    target: str | None,
    labels: str | Path | None,
    writing: Writing,
    drop: Sequence[str],
    texts: Sequence[str],
    numbers: Sequence[str],
    nominal: bool,
    strings: str | None,
    limits: Limits,
) -> Table:
    written = [*texts, *_listed(strings), *_listed(target)]
    if kind in COLUMNAR:
        columns = COLUMNAR[kind](path, limits, [*texts, *_listed(strings)])
        return _select(path.name, columns, target, drop, strings, nominal)
    if kind in ("csv", "tsv"):
        if kind == "tsv" and writing.delimiter is None:
            writing = replace(writing, delimiter="\t")
        literal = _listed(target) if nominal else []
        columns, parted = read_delimited(
            path, limits, writing, texts=written, numbers=numbers, literal=literal
        )
        if target in columns and not nominal:
            columns[target] = writing.numbers(columns[target])
        table = _select(path.name, columns, target, drop, strings, nominal)
        return replace(table, note="" if parted == "," else f"columns parted by {parted!r}")
    if kind == "fasta":
        return _fasta(path, labels, limits, nominal)
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
            _, named, found = read_labels(labels, limits, nominal)
    if found is not None and len(found) != samples.shape[0]:
        raise DataError(
            f"{path.name}: expected one label per row, got "
            f"{counted(samples.shape[0], 'row')} and {counted(len(found), 'label')}."
        )
    listed = samples.tolist() if samples.ndim == 1 else samples
    return Table(path.name, samples=listed, labels=found, target=named, nominal=nominal)


def guess_format(path: Path) -> str:
    """Return the format a file's name stands for."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise DataError(
            f"Expected a file named like {', '.join(sorted(FORMATS))} (or with .gz or .zst), got "
            f"{path.name!r}. Say what it is with --format."
        )
    return FORMATS[suffixes[-1]]


def _listed(name: str | None) -> list[str]:
    return [] if name is None else [name]


def _select(
    where: str,
    columns: dict[str, Array],
    target: str | None,
    drop: Sequence[str],
    strings: str | None,
    nominal: bool,
) -> Table:
    for name in [*_listed(target), *drop, *_listed(strings)]:
        if name not in columns:
            names = list(columns)
            raise DataError(
                f"{where}: expected a column {short(name)}, got none. {nearest(name, names)}"
            )
    goal: dict[str, Any] = {"target": target, "nominal": nominal}
    goal["labels"] = None if target is None else columns[target]
    inputs = {name: c for name, c in columns.items() if name != target and name not in drop}
    if not inputs:
        raise DataError(f"{where}: expected at least one input column, got none beside the target.")
    if strings is not None:
        return Table(where, samples=inputs[strings].tolist(), strings=strings, **goal)
    return Table(where, columns=inputs, **goal)


def _fasta(path: Path, labels: str | Path | None, limits: Limits, nominal: bool) -> Table:
    records = list(islice(read_fasta(path, max_bytes=limits.bytes), limits.rows + 1))
    limits.check_shape(len(records), 1, path.name)
    identifiers, sequences = [r[0] for r in records], [r[1] for r in records]
    table = Table(path.name, samples=sequences, identifiers=identifiers)
    if labels is None:
        return table
    named, target, values = read_labels(labels, limits, nominal)
    table = replace(table, target=target, nominal=nominal)
    if named is None:
        if len(values) != len(sequences):
            raise DataError(
                f"{path.name}: got {counted(len(sequences), 'sequence')} and "
                f"{counted(len(values), 'label')}. "
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
    path: str | Path, limits: Limits, nominal: bool = False
) -> tuple[list[str] | None, str, Array]:
    """Return identifiers (None if there are none), name and values of the labels in a csv file."""
    path = Path(path)
    found, _ = read_delimited(path, limits, all_text=True)
    if nominal:
        found, _ = read_delimited(path, limits, all_text=True, literal=list(found)[-1:])
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

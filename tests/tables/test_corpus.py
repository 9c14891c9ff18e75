"""The corpus of dirty tables: Python and the shell come to the same outcome."""

import json
import os
import re

import click
import numpy as np
import pandas as pd
import pytest

from gramsmith.cli import run
from gramsmith.tables import DataError, Limits, TableEncoder, read_table
from gramsmith.tables.convert import plain, typed
from tools.corpus_of_tables import N, cases, columns

CASES, COLUMNS = cases(), columns()


@pytest.fixture
def shell(capsys):
    """Return a function of a file and options: status, errors and output of a dry run."""

    def dry_run(path, *args):
        target = [] if path.suffix in (".npy", ".npz", ".svm") else ["-t", "y"]
        status = run(args=["rank", str(path), *target, "--dry-run", "--json", *args])
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
        assert "defect" not in said.err
        return status, said.err, said.out

    return dry_run


def python(path, args):
    """Return the table, read and encoded as a program would."""
    from gramsmith.cli.options import reading
    from gramsmith.tables.target import handle_gaps

    options = click.command()(reading(lambda how: how))
    how = options.main(args=list(args), standalone_mode=False)
    matrix = path.suffix in (".npy", ".npz", ".svm")
    table = how.read(str(path), target=None if matrix else "y")
    table, _ = handle_gaps(table, how.missing)
    roles = {name: role for name, role in how.set_roles().items() if name in table.columns}
    return table, TableEncoder(roles=roles or None).fit(table.inputs())


def test_there_are_enough():
    assert len(CASES) + len(COLUMNS) >= 180
    assert len({case.name for case in [*CASES, *COLUMNS]}) == len(CASES) + len(COLUMNS)


@pytest.mark.filterwarnings("ignore::UserWarning")  # some columns do tell the target
@pytest.mark.parametrize("case", CASES, ids=str)
def test_outcome(case, tmp_path, shell):
    path = tmp_path / case.file
    path.write_bytes(case.bytes)
    status, said, out = shell(path, *case.args)
    if case.words:
        assert status == case.status, (said, out)
        assert re.search(case.shell if status == 3 else case.words, said, re.DOTALL), said
        if status == 3:
            with pytest.raises(ValueError, match="(?s)" + case.words):
                python(path, case.args)
        return
    assert status == 0, said
    shown = {row["column"]: row for row in json.loads(out)["roles"]}
    table, encoder = python(path, case.args)
    kinds = dict(zip(encoder.feature_names_in_, encoder.kinds_, strict=True))
    for name, kind in case.kinds.items():
        assert kinds[name] == kind == shown[name]["role" if kind == "left out" else "kind"]
    for name, expected in case.values.items():
        assert_values(encoder, table.inputs(), name, expected)


def assert_values(encoder, frame, name, expected):
    """Check the cells of a column as its kind has them."""
    column = next(c for c in encoder.columns_ if c.name == name)
    values = plain(frame[name], name).values
    found = typed(name, values, column.kind, column.style, column.sentinel)[: len(expected)]
    if found.dtype == float:
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    else:
        assert found.tolist() == expected


def as_file(frame, folder):
    frame.to_csv(folder / "t.tsv", sep="\t", index=False)
    return read_table(folder / "t.tsv").inputs()


def as_workbook(frame, folder):
    frame.to_excel(folder / "t.xlsx", index=False)
    return read_table(folder / "t.xlsx").inputs()


def as_parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet")
    return read_table(folder / "t.parquet").inputs()


def as_arrow(frame, folder):
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


def as_polars(frame, folder):
    import polars as pl

    return pl.DataFrame({name: frame[name].tolist() for name in frame})


def as_frame(frame, folder):
    return frame


WAYS = [as_frame, as_file, as_workbook, as_parquet, as_arrow, as_polars]


@pytest.mark.parametrize("case", COLUMNS, ids=str)
def test_a_column_is_the_same_whatever_it_comes_in(case, tmp_path):
    made = {case.column: [case.cells[i % len(case.cells)] for i in range(max(N, len(case.cells)))]}
    rows = len(made[case.column])
    if case.beside:
        made["b"] = [case.beside[i % len(case.beside)] for i in range(rows)]
    made["c"] = [f"{i % 5} x" for i in range(rows)]
    encoded = []
    for way in WAYS:
        frame = way(pd.DataFrame(made), tmp_path)
        if case.words:
            with pytest.raises(DataError, match="(?s)" + case.words) as raised:
                TableEncoder().fit(frame)
            assert raised.value.column == case.column
            continue
        encoder = TableEncoder().fit(frame)
        kinds = dict(zip(encoder.column_names(), encoder.kinds_, strict=True))
        assert kinds[case.column] == case.kind, way
        assert_values(encoder, frame, case.column, case.values)
        encoded.append(encoder.transform(frame))
        np.testing.assert_array_equal(encoded[-1], encoded[0])


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if b"\x1b" in c.bytes or "left out" in c.kinds.values()],
    ids=str,
)
def test_what_is_said_of_columns_has_no_escape_sequence(case, tmp_path, capsys):
    path = tmp_path / case.file
    path.write_bytes(case.bytes)
    assert run(args=["rank", str(path), "-t", "y", "--dry-run", *case.args]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    for name, kind in case.kinds.items():
        assert kind != "left out" or repr(name)[1:-1] in said.err


def test_workbooks(tmp_path, shell):
    pytest.importorskip("python_calamine")
    n = 24
    frame = pd.DataFrame(
        {
            "a": [None if i == 1 else i + 0.5 for i in range(n)],
            "b": [None if i == 2 else "xz"[i % 2] for i in range(n)],
            "flag": [i % 3 == 0 for i in range(n)],
            "day": pd.date_range("2024-03-01", periods=n),
            "y": ["p" if i % 2 else "q" for i in range(n)],
        }
    )
    path = tmp_path / "t.xlsx"
    frame.to_excel(path, index=False)
    table = read_table(path, target="y")
    np.testing.assert_allclose(table.columns["a"], frame["a"].to_numpy())
    assert table.columns["b"].tolist() == [None if i == 2 else "xz"[i % 2] for i in range(n)]
    # what is read is what pandas holds: the same kinds, the same encoded numbers
    encoders = [TableEncoder().fit(T) for T in (table.inputs(), frame.drop(columns="y"))]
    assert encoders[0].kinds_.tolist() == ["number", "category", "boolean", "date"]
    assert np.array_equal(
        encoders[0].transform(table.inputs()),
        encoders[1].transform(frame.drop(columns="y")),
    )
    status, said, out = shell(path)
    assert status == 0, said
    kinds = {row["column"]: row["kind"] for row in json.loads(out)["roles"]}
    assert kinds == dict(zip(["a", "b", "flag", "day"], encoders[0].kinds_, strict=True))


def test_workbooks_that_are_none(tmp_path):
    pytest.importorskip("python_calamine")
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"a": [1.0, 2.0]}).to_excel(path, index=False)
    whole = path.read_bytes()
    with pytest.raises(DataError, match=r"Limits\.bytes"):
        read_table(path, limits=Limits(bytes=1000))
    for data in (b"", b"PK", whole[: len(whole) // 2], b"a,b\n1,2\n"):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"expected an \.xlsx file"):
            read_table(path)
    pd.DataFrame({"a": []}).to_excel(path, index=False)
    with pytest.raises(DataError, match="a header and rows"):
        read_table(path)


def test_pipes_and_devices_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero"):
        for kind in ("csv", "npy", "npz", "parquet", "feather", "xlsx", "fasta", "svmlight"):
            with pytest.raises(DataError, match="device or a pipe"):
                read_table(path, format=kind)


def test_a_small_file_cannot_fill_the_memory(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    word = "x" * 10_000
    codes = pa.array(np.zeros(300_000, dtype=np.int32))
    bomb = pa.DictionaryArray.from_arrays(codes, pa.array([word]))
    parquet.write_table(pa.table({"a": bomb}), tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 20_000
    with pytest.raises(DataError, match=r"Limits\.bytes"):  # 3 GB if it were unpacked
        read_table(tmp_path / "bomb.parquet")
    parquet.write_table(pa.table({"a": np.zeros(3_000_000)}), tmp_path / "zeros.parquet")
    with pytest.raises(DataError, match=r"Limits\.bytes"):
        read_table(tmp_path / "zeros.parquet", limits=Limits(bytes=2_000_000))


def test_the_standard_input(tmp_path, monkeypatch):
    import io
    import sys

    stream = io.TextIOWrapper(io.BytesIO(b"a,y\n1,p\n2,q\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    table = read_table("-", target="y")
    assert table.columns["a"].tolist() == [1.0, 2.0]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a" * 1000)))
    with pytest.raises(DataError, match=r"Limits\.bytes"):
        read_table("-", limits=Limits(bytes=100))

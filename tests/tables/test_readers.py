"""Every reader against arbitrary bytes: a table, or DataError and nothing else."""

import csv
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramsmith.tables import TableEncoder, Writing
from gramsmith.tables.read import read_table
from gramsmith.tables.streams import DataError, Limits
from gramsmith.tables.target import handle_gaps, read_target

LIMITS = Limits(rows=2000, columns=200, bytes=10**6)


def outcome(path, data, **options):
    path.write_bytes(data)
    try:
        table = read_table(path, limits=LIMITS, **options)
        table, _ = handle_gaps(table, "drop")
        if table.labels is not None:
            read_target(table)
    except DataError as error:
        return str(error)
    return table


def seeds():
    stream = io.BytesIO()
    np.savez_compressed(stream, X=np.arange(12.0).reshape(4, 3), y=np.array([0, 1, 0, 1]))
    matrix = io.BytesIO()
    np.save(matrix, np.arange(12.0).reshape(4, 3))
    rows = b'a,b,y\n1,"x,z",p\n2,,q\n3,w,p\n4,w,q\n5,x,q\n'
    return {
        "csv": rows,
        "tsv": rows.replace(b",", b"\t"),
        "csv.gz": gzip.compress(rows, mtime=0),
        "svm": b"1 1:0.5 3:2\n-1 2:1 # note\n1 qid:3 1:4\n-1 1:1\n",
        "npz": stream.getvalue(),
        "npy": matrix.getvalue(),
        "fasta": b">a one\nACGT\n>b\nGG\nTT\n",
    }


@pytest.mark.parametrize("kind", list(seeds()))
def test_mutated_files(kind, tmp_path):
    rng = np.random.default_rng(0)
    data = seeds()[kind]
    path = tmp_path / f"t.{kind}"
    target = "y" if kind[:3] in ("csv", "tsv", "npz") else None
    assert not isinstance(outcome(path, data, target=target), str)
    for _ in range(150):
        mutated = bytearray(data)
        for position in rng.integers(0, len(data), size=rng.integers(1, 4)):
            mutated[position] = rng.integers(0, 256)
        outcome(path, bytes(mutated[: rng.integers(1, len(data) + 1)]), target=target)
        outcome(path, bytes(mutated), target=target)


@pytest.mark.parametrize("kind", ["csv", "svm", "npz", "npy", "fasta", "csv.gz"])
@given(data=st.binary(max_size=300))
@settings(max_examples=100)
def test_arbitrary_bytes(kind, tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / f"bytes.{kind}"
    outcome(path, data)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(rows=st.lists(st.lists(cells, min_size=1, max_size=4), max_size=6))
@settings(max_examples=200)
def test_arbitrary_cells(tmp_path_factory, rows):
    import csv

    path = tmp_path_factory.getbasetemp() / "cells.csv"
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    found = outcome(path, stream.getvalue().encode())
    if not isinstance(found, str):
        assert found.n_rows <= len(rows)


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from("pq")),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=100)
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    path.write_text("a,y\n" + "".join(f"{value!r},{label}\n" for value, label in rows))
    table = read_table(path, target="y")
    assert table.columns["a"].tolist() == [value for value, _ in rows]
    assert table.labels.tolist() == [label for _, label in rows]


def test_mutated_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0, 4.0], "y": list("pqpq")}), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        mutated = bytearray(data)
        mutated[rng.integers(0, len(data))] = rng.integers(0, 256)
        outcome(path, bytes(mutated), target="y")
    for length in range(0, len(data), 37):
        assert isinstance(outcome(path, data[:length], target="y"), str)


@pytest.mark.parametrize("long", [1, 7, 400_000])
def test_newlines_in_quotes_wherever_blocks_end(long, tmp_path):
    # several blocks of what the parser reads at once, most of whose ends lie within quotes
    rng = np.random.default_rng(long)
    texts = ["a\nb" * int(k) for k in rng.integers(1, long + 1, size=max(12, 1_500_000 // long))]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", "number"])
        writer.writerows((text, i) for i, text in enumerate(texts))
    table = read_table(path, texts=["text"])
    assert table.columns["text"].tolist() == texts
    assert (table.columns["number"] == np.arange(len(texts))).all()


def test_comments_are_rows_unless_the_mark_is_named(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"#{k:02d},{k}.5,{'ab'[k % 2]}" for k in range(12)]
    path.write_text("code,x,y\n" + "\n".join(rows))
    assert list(read_table(path, target="y").columns["code"])[:2] == ["#00", "#01"]
    path.write_text('note,x,y\n# of\n"one",1.5,a\n#"two",2.5,b\ntwo,3.5,b\n')
    with pytest.raises(DataError, match=r"row 1 \(line 2\).*comment mark"):
        read_table(path, target="y")
    table = read_table(path, target="y", writing=Writing(comment="#"))
    assert table.columns["note"].tolist() == ["one", "two"]
    np.savetxt(path, np.arange(60.0).reshape(20, 3), delimiter=",", header="a,b,y")
    writing = Writing(header=False, comment="#")
    assert len(read_table(path, target="x3", writing=writing).labels) == 20


def test_a_target_with_decimal_commas_is_a_number(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"0,{k};-1,{k};{k},5" for k in range(10, 30)]
    for text, options in (
        ("a;b;y\n" + "\n".join(rows), {"target": "y"}),
        ("\n".join(rows), {"target": "x3", "writing": Writing(header=False)}),
        ("\n".join(rows), {"target": "x3", "writing": Writing(header=False, decimal=",")}),
    ):
        path.write_text(text)
        found = read_target(read_table(path, **options))
        assert found.task == "regression"
        np.testing.assert_array_equal(found.y, np.arange(10, 30) + 0.5)


def test_commas_that_may_group_digits_are_asked_about(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;y\n" + "".join(f"{k};{k},{k}5\n" for k in range(10, 40)))
    with pytest.raises(DataError, match="comma a decimal mark, or does it group"):
        read_target(read_table(path, target="y"), "regression")
    found = read_target(read_table(path, target="y", writing=Writing(decimal=",")), "regression")
    assert found.y[0] == 10.105


@pytest.mark.parametrize("slip", ["7O.5", "70.5#", "<0.5", "heavy"])
def test_a_slip_among_numbers_is_named(slip, tmp_path):
    path = tmp_path / "t.csv"
    cells = [f"{k}.{k}" for k in range(10, 70)]
    cells[9] = slip
    path.write_text("w,y\n" + "".join(f"{c},{'ab'[k % 2]}\n" for k, c in enumerate(cells)))
    with pytest.raises(DataError, match="Column 'w', row 9"):
        TableEncoder().fit(read_table(path, target="y").inputs())


def test_codes_among_numbers_are_texts(tmp_path):
    path = tmp_path / "t.csv"
    many = [f"A/5 {k}" if k % 4 == 0 else str(1000 + k) for k in range(60)]
    rows = (f"{code},{'ab'[k % 3 > 0]}\n" for k, code in enumerate(many))
    path.write_text("ticket,y\n" + "".join(rows))
    table = read_table(path, target="y")
    assert list(table.columns["ticket"]) == many
    assert TableEncoder().fit(table.inputs()).kinds_.tolist() == ["text"]


@pytest.mark.parametrize(
    ("line", "parted"),
    [("{a}\t{b}\tred;blue\tp", "\t"), ("{a}|{b};{a}|p", "|"), ("{a},{b},{a};{b},1", ",")],
)
def test_semicolons_within_cells_part_nothing(line, parted, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(line.format(a=10 + k, b=50 - k) for k in range(20)))
    table = read_table(path, writing=Writing(header=False))
    assert len(table.columns) == line.count(parted) + 1


def test_errors_of_spreadsheets_leave_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "1.5,7,p\n#DIV/0!,#WERT!,q\n -,Err:502,p\n2,8,q\n")
    columns = read_table(path, target="y").columns
    np.testing.assert_array_equal(columns["a"], [1.5, np.nan, np.nan, 2.0])
    np.testing.assert_array_equal(columns["b"], [7.0, np.nan, np.nan, 8.0])

"""Delimited text: what is wrong is named by row and column, nothing is shifted or guessed."""

import gzip

import numpy as np
import pytest

from gramsmith.tables.delimited import CHUNK, read_delimited
from gramsmith.tables.streams import DataError, Limits


def read(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_delimited(
        path, options.pop("delimiter", ","), options.pop("limits", Limits()), **options
    )


def test_numbers_and_texts(tmp_path):
    table = read(tmp_path, 'a,b,"c d"\n1,red,-2.5e3\n 2 ,"blue, dark",\n\n3,red,7\n')
    assert list(table) == ["a", "b", "c d"]
    assert table["a"].tolist() == [1.0, 2.0, 3.0]
    assert table["b"].tolist() == ["red", "blue, dark", "red"]
    assert np.isnan(table["c d"][1])
    assert table["c d"][[0, 2]].tolist() == [-2500.0, 7.0]


def test_byte_order_mark_and_carriage_returns(tmp_path):
    table = read(tmp_path, b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n")
    assert {name: column.tolist() for name, column in table.items()} == {"a": [1, 3], "b": [2, 4]}


def test_exact_decimals(tmp_path):
    numbers = np.random.default_rng(0).normal(size=50)
    table = read(tmp_path, "a\n" + "\n".join(map(repr, numbers.tolist())) + "\n")
    assert table["a"].tobytes() == numbers.tobytes()


def test_quoted_newlines_belong_to_a_cell(tmp_path):
    assert read(tmp_path, 'a,b\n"x\ny",1\n')["a"].tolist() == ["x\ny"]


def test_missing_words(tmp_path):
    table = read(tmp_path, "a,b\n1,x\nNA,\nnan,?\n4,N/A\n")
    assert np.isnan(table["a"]).tolist() == [False, True, True, False]
    assert table["b"].tolist() == ["x", None, None, None]


def test_literal_words(tmp_path):
    table = read(tmp_path, "a,b\nNA,none\n,NA\nx,\n", literal=["a"])
    assert table["a"].tolist() == ["NA", None, "x"]
    assert np.isnan(table["b"]).all()


def test_gzip(tmp_path):
    assert read(tmp_path, gzip.compress(b"a\n1\n"))["a"].tolist() == [1.0]


def test_more_than_one_chunk(tmp_path):
    n = CHUNK + 10
    table = read(tmp_path, "a,b\n" + "".join(f"{i},c{i % 3}\n" for i in range(n)))
    assert table["a"].tolist() == list(range(n))
    assert table["b"][-1] == f"c{(n - 1) % 3}"


def test_forced_text_and_known_kinds(tmp_path):
    assert read(tmp_path, "a\n1\n2\n", texts=["a"])["a"].tolist() == ["1", "2"]
    with pytest.raises(DataError, match=r"row 1 \(line 2\), column 'a'.*got 'x'"):
        read(tmp_path, "a\nx\ny\n", kinds={"a": "number"})


def test_a_row_index_is_left_out(tmp_path):
    assert list(read(tmp_path, ",a\n0,5\n1,6\n")) == ["a"]
    with pytest.raises(DataError, match="name for column 1"):
        read(tmp_path, ",a\n7,5\n1,6\n")


def test_no_header(tmp_path):
    table = read(tmp_path, "1,2\n3,4\n", header=False)
    assert {name: column.tolist() for name, column in table.items()} == {"x1": [1, 3], "x2": [2, 4]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty file"),
        ("\n\n", "empty file"),
        ("a,b\n", "expected rows below the header"),
        ("a,b\n1,2\n1,2,3\n", r"row 2 \(line 3\): expected 2 fields, got 3"),
        ("a,b\n1\n", r"row 1 \(line 2\): expected 2 fields, got 1"),
        ("a,b,a\n1,2,3\n", "'a' in columns 1, 3"),
        ("a,,c\n1,2,3\n", "name for column 2"),
        ("1,2\n3,4\n", "--no-header"),
        ("a;b\n1;2\n", "--delimiter ';'"),
        ("a\tb\n1\t2\n", "--delimiter"),
        ("a,b\n1,2\n3,1e400\n", r"row 2 \(line 3\), column 'b'.*'1e400'.*too large"),
        ("a,b\n1,2\n3,inf\n", "row 2.*column 'b'.*finite"),
        ("a\n1\n2\nthree\n", r"row 3 \(line 4\), column 'a'.*'three'.*--categorical"),
        ("a\n1\n2\n1_000\n", "row 3.*'1_000'"),
        ("a\n1\n2\n1,5\n", "row 3.*expected 1 fields, got 2"),
        ('a,b\n"1,2\n', "quotation marks"),
        ("a\n1\n\n\n2\nthree\n", r"row 3 \(line 6\), column 'a'"),
        ("\n\na,b\n1,2\n\n1\n", r"row 2 \(line 6\): expected 2 fields, got 1"),
        ("\na,a\n1,2\n", "line 2: expected every column name once"),
        ('a,b\n"x\ny",1\nz,2\n"u\n\nv",three\n', r"row 3 \(line 5\), column 'b'"),
        (b"a\n\xff\n", "line 2: expected UTF-8 text, got the byte 0xff"),
        (b"a\n1\x002\n", "line 2.*NUL"),
        (b"PK\x03\x04aaaa", "zip archive"),
        (b"BZh91AY", "bzip2 archive"),
        (gzip.compress(b"a\n1\n", mtime=0)[:-9], "whole file"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path, text)


def test_bombs_stop_at_the_caps(tmp_path):
    zeros = gzip.compress(b"a\n" + b"0\n" * 5_000_000)
    assert len(zeros) < 50_000
    with pytest.raises(DataError, match="at most 1,000,000 bytes"):
        read(tmp_path, zeros, limits=Limits(bytes=1_000_000))
    with pytest.raises(DataError, match="at most 30,000 rows"):
        read(tmp_path, zeros, limits=Limits(rows=30_000))
    with pytest.raises(DataError, match="at most 10,000 columns"):
        read(tmp_path, ",".join(f"c{i}" for i in range(10_001)) + "\n1\n")
    with pytest.raises(DataError, match="longer one"):
        read(tmp_path, gzip.compress(b"a\n" + b"0" * 20_000_000))


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_delimited(tmp_path / "none.csv", ",", Limits())
    with pytest.raises(DataError, match="folder"):
        read_delimited(tmp_path, ",", Limits())

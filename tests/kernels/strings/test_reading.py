import numpy as np
import pandas as pd
import polars as pl
import pytest

from gramsmith.kernels.strings.reading import as_sequences

TEXT = ["ACGT", "", "GATTACA"]


@pytest.mark.parametrize(
    "X",
    [
        TEXT,
        tuple(TEXT),
        np.array(TEXT),
        np.array(TEXT, dtype=object),
        np.array(TEXT)[:, None],
        pd.Series(TEXT),
        pd.Series(TEXT, dtype=object, index=[7, 8, 9]),
        pd.Series(TEXT, dtype="category"),
        pd.DataFrame({"sequence": TEXT}),
        pl.Series(TEXT),
        [text.encode() for text in TEXT],
        np.array(TEXT, dtype="S"),
        [bytearray(text.encode()) for text in TEXT],
    ],
)
def test_every_container_of_text_is_read_alike(X):
    found = as_sequences(X, "Spectrum")
    assert found.dtype == object
    assert found.shape == (3,)
    assert list(found) == TEXT
    assert all(type(item) is str for item in found)


@pytest.mark.parametrize(
    "X",
    [
        [["a", "b"], ["a", "c"]],
        [("a", "b"), ("a", "c")],
        np.array([["a", "b"], ["a", "c"]]),
        pd.Series([["a", "b"], ["a", "c"]]),
        [np.array(["a", "b"]), np.array(["a", "c"])],
        pd.DataFrame({"first": ["a", "a"], "second": ["b", "c"]}),
    ],
)
def test_token_lists_stay_token_lists(X):
    found = as_sequences(X, "Spectrum")
    assert found.shape == (2,)
    assert list(found) == [("a", "b"), ("a", "c")]


def test_rows_of_whole_numbers_are_token_lists():
    assert list(as_sequences(np.array([[1, 2], [3, 4]], dtype=np.uint8), "Spectrum")) == [
        (1, 2),
        (3, 4),
    ]


def test_reading_twice_changes_nothing():
    for X in (TEXT, [("a",), ("b", "c")]):
        once = as_sequences(X, "Spectrum")
        assert list(as_sequences(once, "Spectrum")) == list(once)


def test_bytes_are_read_byte_by_byte():
    assert list(as_sequences([b"A\x00\xff"], "Spectrum")) == ["A\x00\xff"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("ACGT", "got one str. Wrap it in a list"),
        (b"ACGT", "got one bytes"),
        (3, "got int"),
        ({"a": 1}, "got dict"),
        (["AC", None], "a missing value in row 1"),
        (["AC", float("nan")], "a missing value in row 1"),
        (pd.Series(["AC", pd.NA]), "a missing value in row 1"),
        (pl.Series(["AC", None]), "a missing value in row 1"),
        (["AC", 3], r"int \(3\) in row 1"),
        (["AC", b"AC"], r"mixed types: str \(row 0\), bytes \(row 1\)"),
        (["AC", ["A", "C"]], r"token lists \(row 1\)"),
        ([[1.5, 2.0]], r"float \(1.5\) at position 0 of row 0"),
        ([["a", None]], "NoneType .* at position 1 of row 0"),
        ([[{}]], "dict .* at position 0"),
        (np.ones((2, 3)), "got an array of float64"),
        (np.arange(3), "with shape"),
        (np.zeros((2, 2, 2), dtype=int), r"shape \(2, 2, 2\)"),
    ],
)
def test_other_input_is_refused_by_name(X, message):
    with pytest.raises(TypeError, match=message):
        as_sequences(X, "Spectrum")


@pytest.mark.parametrize("X", [[], np.empty(0, dtype=object), pd.Series([], dtype=object)])
def test_no_samples(X):
    with pytest.raises(ValueError, match="got 0 sample"):
        as_sequences(X, "Spectrum")


def test_length_cap_names_the_string_and_the_way_out():
    with pytest.raises(ValueError, match=r"got 11 in string 1.*length_limit=11"):
        as_sequences(["a", "b" * 11], "Spectrum", length_limit=10)
    assert len(as_sequences(["b" * 11], "Spectrum", length_limit=11)[0]) == 11

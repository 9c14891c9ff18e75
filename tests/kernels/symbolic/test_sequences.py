import numpy as np
import pandas as pd
import polars as pl
import pytest

import gramsmith as gs
from gramsmith.kernels.symbolic.sequences import (
    GAP,
    Alphabet,
    as_sequences,
    fold,
)

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
        ("ACGT", "got one str. Pass a list"),
        (b"ACGT", "got one bytes"),
        (3, "got one int"),
        ({"a": 1}, "got one dict"),
        (["AC", None], "a missing value in row 1"),
        (["AC", float("nan")], "a missing value in row 1"),
        (pd.Series(["AC", pd.NA]), "a missing value in row 1"),
        (pl.Series(["AC", None]), "a missing value in row 1"),
        (["AC", 3], r"int \(3\) in row 1"),
        (["AC", b"AC"], r"mixed types: str \(row 0\), bytes \(row 1\)"),
        (["AC", ["A", "C"]], r"tuple \(row 1\)"),
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


def read(*items):
    return as_sequences(list(items), "Spectrum")


def test_symbols_of_text_are_sorted_code_points():
    alphabet = Alphabet.of([read("ba", "é\0"), read("\ud800", "\U0001f600a")], "keep")
    assert alphabet.symbols == ("\0", "a", "b", "é", "\ud800", "\U0001f600")
    codes, starts = alphabet.encode(read("ab\ud800", "", "\0"))
    assert codes.tolist() == [1, 2, 4, 0]
    assert starts.tolist() == [0, 3, 3, 4]


def test_tokens_are_numbered_in_order_of_appearance():
    alphabet = Alphabet.of([read(["to", "be"], ["be", 3])], "keep")
    assert alphabet.symbols == ("to", "be", 3)
    codes, starts = alphabet.encode(read([3, "to", "new"]))
    assert codes.tolist() == [2, 0, GAP]
    assert starts.tolist() == [0, 3]


def test_unknown_symbols_of_text_are_gaps():
    codes, _ = Alphabet.given("ACGT", [read("A")], "keep").encode(read("ANT\U0001f600"))
    assert codes.tolist() == [0, GAP, 3, GAP]


def test_given_alphabet_may_be_bytes():
    assert Alphabet.given(b"ACGT", [read("A")], "keep").symbols == tuple("ACGT")


@pytest.mark.parametrize(("case", "want"), [("upper", "ACGT"), ("lower", "acgt"), ("keep", "aCgT")])
def test_case_is_folded_on_request(case, want):
    assert fold("aCgT", case) == want
    assert fold(("aCgT", 3), case) == (want, 3)
    alphabet = Alphabet.of([read("aCgT")], case)
    assert set(alphabet.symbols) == set(want)
    assert (alphabet.encode(read("aCgT"))[0] >= 0).all()


def test_folding_may_change_length_and_depend_on_neighbours():
    X = read("straße", "ΟΔΟΣ")
    for case in ("upper", "lower"):
        codes, starts = Alphabet.of([X], case).encode(X)
        assert (codes >= 0).all()
        assert np.diff(starts).tolist() == [7 if case == "upper" else 6, 4]


def test_token_outside_is_named_with_its_place():
    X = read(["to", "be"])
    with pytest.raises(ValueError, match="got 'be' at position 1 of string 0"):
        Alphabet.given(["to"], [X], "keep").check(X, "Spectrum")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("ACGT", "title", "error"), "case"),
        (("ACGT", "keep", "ignore"), "unknown"),
        (("", "keep", "error"), "distinct symbols"),
        (("AAC", "keep", "error"), "distinct symbols"),
        (("aA", "upper", "error"), "distinct symbols"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        gs.Spectrum(2, False, *options)(["A"])


def test_alphabet_of_text_has_single_characters():
    with pytest.raises(ValueError, match="single characters"):
        Alphabet.given(["AC", "G"], [read("AC")], "keep")


KERNELS = [
    gs.Spectrum(2),
    gs.AllSubstrings(),
    gs.Subsequence(2),
    gs.Mismatch(2, 1),
    gs.WeightedDegree(2),
]
each = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)


@each
def test_bytes_and_text_are_alike(kernel):
    X, Y = ["ACGT", "GATTACA"], ["TAC", "ACGA"]
    as_bytes = [x.encode() for x in X]
    assert np.array_equal(kernel(as_bytes, Y), kernel(X, Y))
    assert np.array_equal(kernel(np.array(X), np.array(Y)), kernel(X, Y))


@each
def test_strings_and_lists_of_their_letters_are_alike(kernel):
    X = ["ACGT", "GATTACA", ""]
    assert np.array_equal(kernel([list(x) for x in X]), kernel(X))


@each
def test_empty_and_short_strings_share_nothing(kernel):
    assert np.array_equal(kernel(["", "abc"], [""]), np.zeros((2, 1)))
    assert np.array_equal(gs.Normalized(kernel)(["", "abc"]).round(12), [[0, 0], [0, 1]])


@each
def test_code_points_are_symbols(kernel):
    plain = kernel(["abca", "cab"])
    for odd in ("é\0\U0001f600", "\ud800\udfff\x7f"):
        table = str.maketrans("abc", odd)
        assert np.array_equal(kernel(["abca".translate(table), "cab".translate(table)]), plain)


@each
def test_text_and_tokens_do_not_meet(kernel):
    with pytest.raises(TypeError, match="one of each"):
        kernel(["ab"], [["a", "b"]])


@each
@pytest.mark.parametrize("X", [[None], ["a", None], ["a", b"a"], ["a", 3], "abc", 7])
def test_other_types_are_refused(kernel, X):
    with pytest.raises(TypeError, match=type(kernel).__name__):
        kernel(X)


@each
def test_a_million_characters_need_permission(kernel):
    with pytest.raises(ValueError, match=r"got 1000000 in string 0.*length_limit=1000000"):
        kernel(["a" * 1_000_000])


@each
@pytest.mark.parametrize("limit", [0, -5, 1.5])
def test_bad_cap(kernel, limit):
    with pytest.raises(ValueError, match="length_limit"):
        type(kernel)(length_limit=limit)(["a"])


@each
def test_symbol_outside_the_alphabet_is_named(kernel):
    strict = type(kernel)(alphabet="ACGT")
    with pytest.raises(ValueError, match=r"got 'x' at position 2 of string 1"):
        strict(["ACGT", "ACxG"])
    with pytest.raises(ValueError, match=r"got 'N' at position 0 of string 0"):
        strict(["ACGT"], ["N"])
    assert (type(kernel)(alphabet="ACGT", unknown="gap")(["xxxxxx"]) == 0).all()


@each
def test_formula_is_short(kernel):
    assert kernel.formula().startswith(type(kernel).__name__ + "(")
    assert "length_limit" not in kernel.formula()
    assert "case='upper'" in type(kernel)(case="upper").formula()

import numpy as np
import pytest

from gramsmith.kernels.strings.alphabet import (
    GAP,
    Alphabet,
    check_alphabet,
    check_symbols,
    code_points,
    fold,
    is_text,
)
from gramsmith.kernels.strings.reading import as_sequences


def read(*items):
    return as_sequences(list(items), "Spectrum")


def test_symbols_of_text_are_sorted_code_points():
    alphabet = Alphabet.of([read("ba", "é\0"), read("\ud800", "\U0001f600a")], "keep")
    assert alphabet.symbols == ("\0", "a", "b", "é", "\ud800", "\U0001f600")
    codes, starts = alphabet.encode(read("ab\ud800", "", "\0"))
    assert codes.tolist() == [1, 2, 4, 0]
    assert starts.tolist() == [0, 3, 3, 4]


def test_one_number_per_code_point_not_per_byte():
    assert code_points("é\U0001f600\udcff").tolist() == [0xE9, 0x1F600, 0xDCFF]


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


def test_text_and_tokens_do_not_mix():
    assert is_text([read("ab")])
    assert not is_text([read(["ab"])])
    with pytest.raises(TypeError, match="one of each"):
        is_text([read("ab"), read(["ab"])])


def test_symbol_outside_is_named_with_its_place():
    X = read("ACGT", "ACNT")
    alphabet = Alphabet.given("ACGT", [X], "keep")
    with pytest.raises(ValueError, match=r"'ACGT', got 'N' at position 2 of string 1"):
        check_symbols(alphabet, X, "Spectrum")
    check_symbols(alphabet, read("ACGT"), "Spectrum")


def test_token_outside_is_named_with_its_place():
    X = read(["to", "be"])
    with pytest.raises(ValueError, match="got 'be' at position 1 of string 0"):
        check_symbols(Alphabet.given(["to"], [X], "keep"), X, "Spectrum")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("ACGT", "title", "error"), "case"),
        (("ACGT", "keep", "ignore"), "unknown="),
        (("", "keep", "error"), "distinct symbols"),
        (("AAC", "keep", "error"), "distinct symbols"),
        (("aA", "upper", "error"), "distinct symbols"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        check_alphabet(*options, "Spectrum")


def test_alphabet_of_text_has_single_characters():
    with pytest.raises(ValueError, match="single characters"):
        Alphabet.given(["AC", "G"], [read("AC")], "keep")

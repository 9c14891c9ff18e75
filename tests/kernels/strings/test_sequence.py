import numpy as np
import pytest

import gramsmith as gs

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

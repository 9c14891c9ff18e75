"""Specifications of fitted attributes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.storage import ModelFormatError
from gramsmith.storage.shapes import check, droppable, meets, optional

GOOD = [
    (np.zeros((2, 3)), "array n p"),
    (np.zeros((2, 3)), "array 2 *"),
    (np.array([np.nan]), "loose n"),
    (np.array([0, 4]), "index m s"),
    (np.array([], dtype=int), "index m s"),
    (np.array(["a"]), "labels k"),
    (np.array([True]), "labels k"),
    (np.array(["a", 1], dtype=object), "labels k"),
    (np.array(["a", "b"], dtype=object), "names k"),
    (np.array(["a"]), "names k"),
    (RBF(), "source"),
    (gs.LinearMap(np.ones(2)), "map"),
    (np.zeros((2, 3)), "samples n p"),
    (sp.csr_array((2, 3)), "samples n p"),
    (["a", "b"], "samples n p"),
    (np.array(["a", None], dtype=object), "samples n p"),
    (5, "count m"),
    (np.int64(5), "count m"),
    (1.5, "number"),
    (float("nan"), "real"),
    (3, "whole"),
    (True, "flag"),
    ("x", "text"),
    (None, "array n | none"),
    (gs.Linear(), "kernel"),
    ([gs.Linear(), gs.Gaussian()], "list kernel"),
    (StandardScaler(), "model"),
    ({}, "value"),
    (np.array([0.5, 2.0]), "positive n"),
    (np.array([1e150, -1e150]), "array n"),
    (np.array([True]), "array n"),
    (np.array([np.inf]), "record n"),
    (np.array([1.0, 2.0]), "samples n p"),
    ((), "samples n p"),
    (np.array([["a"]]), "samples n p"),
    (np.array([b"a", 1.5, np.True_], dtype=object), "labels k"),
    (0, "count k"),
    (-1e150, "number"),
    (np.float32(-3.0), "number"),
    (-np.inf, "real"),
    (np.int8(-3), "whole"),
    (np.False_, "flag"),
    ("b", "choice a b"),
    ((1, 2.5), "pair"),
    ([0, -1], "pair"),
    ([("a", StandardScaler()), ("b", None), ("c", "passthrough")], "steps"),
    ([], "steps"),
    ((1.0, 2), "list number"),
    (StandardScaler(), "kernel | model"),
]
BAD = [
    (np.array([0.0, 1.0]), "positive n"),
    (np.array([np.inf]), "positive n"),
    (np.array([1.1e150]), "array n"),
    (np.array([-1.1e150]), "array n"),
    ([1.0], "array n"),
    (np.array(["a"]), "loose n"),
    (np.array([[1]]), "index m s"),
    ([0, 1], "index m s"),
    (np.array([0]), "index k s"),
    (np.array([1.0, np.nan]), "samples n p"),
    (np.zeros((2, 3, 1)), "samples n p"),
    (np.zeros((2, 3), dtype=complex), "samples n p"),
    (np.array([["a"]]), "names k"),
    (["a"], "names k"),
    (np.array([1j]), "labels k"),
    (None, "samples n p"),
    (1.1e150, "number"),
    (-np.inf, "number"),
    (np.nan, "number"),
    ("1", "number"),
    (True, "real"),
    (1.0, "whole"),
    ("c", "choice a b"),
    (1, "choice 1"),
    ((1,), "pair"),
    ((1, 2, 3), "pair"),
    ((1, np.inf), "pair"),
    ("ab", "pair"),
    ([("a", 3)], "steps"),
    ([(1, None)], "steps"),
    ([("a", None, None)], "steps"),
    ([["a", None]], "steps"),
    ((("a", None),), "steps"),
    ([None], "steps"),
    ({1.0}, "list number"),
    ([1.0, "a"], "list number"),
    (print, "code"),
    (1, "dropped"),
    (gs.LinearMap(np.ones(2)), "kernel"),
    (np.zeros((2, 3)), "array m p"),
    (np.zeros(3), "array n p"),
    (np.zeros((2, 3)), "array 3 *"),
    (np.array([np.inf]), "array n"),
    (np.array(["a"]), "array n"),
    (np.array([1j]), "array n"),
    (np.array([0, 5]), "index m s"),
    (np.array([-1]), "index m s"),
    (np.array([0.0]), "index m s"),
    (np.array([[1]]), "labels k"),
    (np.array([None], dtype=object), "labels k"),
    (np.array([1], dtype=object), "names k"),
    (np.array([1]), "names k"),
    (gs.Gaussian(), "source"),
    (gs.Gaussian(), "map"),
    (np.array([[np.nan, 1.0]]), "samples n p"),
    (sp.csr_array(([np.nan], ([0], [0])), shape=(1, 1)), "samples n p"),
    (4, "count m"),
    (-1, "count k"),
    (1.0, "count k"),
    (True, "number"),
    (float("inf"), "number"),
    (10**400, "number"),
    (True, "whole"),
    (1, "flag"),
    (None, "array n | number"),
    (StandardScaler(), "kernel"),
    ([1], "list kernel"),
    (gs.Linear, "kernel"),
]


@pytest.mark.parametrize(("value", "specification"), GOOD, ids=lambda v: repr(v)[:60])
def test_met(value, specification):
    check(value, specification, {"m": 5}, "here")


@pytest.mark.parametrize(("value", "specification"), BAD, ids=lambda v: repr(v)[:60])
def test_not_met(value, specification):
    with pytest.raises((ModelFormatError, OverflowError)):
        check(value, specification, {"m": 5}, "here")


def test_equal_letters_are_equal_sizes():
    sizes = {}
    check(np.zeros((4, 2)), "array s t", sizes, "a_")
    assert sizes == {"s": 4, "t": 2}
    with pytest.raises(
        ModelFormatError, match=r"b_: expected array t with s = 4, t = 2, got float64"
    ):
        check(np.zeros(3), "array t", sizes, "b_")
    assert sizes == {"s": 4, "t": 2}


def test_a_failed_alternative_binds_nothing():
    sizes = {}
    check(np.zeros((3, 7)), "array n n | array n p", sizes, "a_")
    assert sizes == {"n": 3, "p": 7}


def test_optional():
    assert optional("array n?")
    assert not optional("array n")
    assert optional("kernel | dropped")
    assert droppable("kernel | dropped")
    assert not droppable("array n?")


def test_meets_binds_nothing():
    assert meets(np.zeros((2, 2)), "array n n")
    assert not meets(np.zeros((2, 3)), "array n n")
    assert meets(None, "array n | none")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((2, 1)), r"float64 of shape \(2, 1\)\."),
        (
            np.array([np.nan]),
            r"float64 of shape \(1,\) with NaN, infinity or numbers above 1e\+150",
        ),
        (np.array([-2e150]), r"float64 of shape \(1,\) with NaN"),
        (np.array(3.0), "ndarray"),
        (sp.csr_array((2, 3), dtype=np.int64), r"int64 of shape \(2, 3\)\."),
        ("x", "str"),
    ],
)
def test_what_was_got(value, words):
    with pytest.raises(ModelFormatError, match=f"here: expected kernel, got.*{words}"):
        check(value, "kernel?", {}, "here")

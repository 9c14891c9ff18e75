"""Specifications of fitted attributes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.storage import ModelFormatError
from gramsmith.storage.shapes import check, droppable, meets, optional

COLUMN = np.zeros((2, 3))
MIXED = np.array([b"a", 1.5, np.True_], dtype=object)
STEPS = [("a", StandardScaler()), ("b", None), ("c", "passthrough")]
GAP = np.array([np.nan])
GOOD = {
    "array n p": [COLUMN],
    "array 2 *": [COLUMN],
    "array n": [np.array([1e150, -1e150]), np.array([True])],
    "array n | none": [None],
    "positive n": [np.array([0.5, 2.0])],
    "loose n": [GAP],
    "record n": [np.array([np.inf])],
    "index m s": [np.array([0, 4]), np.array([], dtype=int)],
    "labels k": [np.array(["a"]), np.array([True]), MIXED],
    "names k": [np.array(["a", "b"], dtype=object), np.array(["a"])],
    "samples n p": [COLUMN, sp.csr_array((2, 3)), ["a", "b"], (), np.array([["a"]]), np.ones(2)],
    "count m": [5, np.int64(5)],
    "count k": [0],
    "number": [1.5, -1e150, np.float32(-3.0)],
    "real": [np.nan, -np.inf],
    "whole": [3, np.int8(-3)],
    "flag": [True, np.False_],
    "text": ["x"],
    "choice a b": ["b"],
    "pair": [(1, 2.5), [0, -1]],
    "kernel": [gs.Linear()],
    "source": [RBF()],
    "map": [gs.LinearMap(np.ones(2))],
    "model": [StandardScaler()],
    "kernel | model": [StandardScaler()],
    "list kernel": [[gs.Linear(), gs.Gaussian()]],
    "list number": [(1.0, 2)],
    "steps": [STEPS, []],
    "value": [{}],
}
BAD = {
    "array n p": [np.zeros(3)],
    "array m p": [COLUMN],
    "array 3 *": [COLUMN],
    "array n": [[1.0], np.array([1.1e150]), np.array([-np.inf]), np.array(["a"]), np.array([1j])],
    "array n | number": [None],
    "positive n": [np.array([0.0, 1.0]), np.array([np.inf])],
    "loose n": [np.array(["a"])],
    "index m s": [np.array([[1]]), [0, 1], np.array([0, 5]), np.array([-1]), np.array([0.0])],
    "index k s": [np.array([0])],
    "labels k": [np.array([1j]), np.array([[1]]), np.array([None], dtype=object)],
    "names k": [np.array([["a"]]), ["a"], np.array([1], dtype=object), np.array([1])],
    "samples n p": [GAP, np.zeros((2, 3, 1)), COLUMN.astype(complex), None, GAP[None]],
    "count m": [4],
    "count k": [-1, 1.0],
    "number": [1.1e150, -np.inf, np.nan, "1", True, 10**400],
    "real": [True],
    "whole": [1.0, True],
    "flag": [1],
    "choice a b": ["c"],
    "choice 1": [1],
    "pair": [(1,), (1, 2, 3), (1, np.inf), "ab"],
    "kernel": [gs.LinearMap(np.ones(2)), StandardScaler(), gs.Linear],
    "source": [gs.Gaussian()],
    "map": [gs.Gaussian()],
    "list kernel": [[1]],
    "list number": [{1.0}, [1.0, "a"]],
    "steps": [[("a", 3)], [(1, None)], [("a", None, None)], [["a", None]], (("a", None),), [None]],
    "code": [print],
    "dropped": [1],
}


def test_what_meets_a_specification_and_what_does_not():
    for specification, values in GOOD.items():
        for value in values:
            check(value, specification, {"m": 5}, "here")
    for specification, values in BAD.items():
        for value in values:
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


def test_what_was_got():
    large = r"with NaN, infinity or numbers above 1e\+150"
    for value, words in [
        (np.zeros((2, 1)), r"float64 of shape \(2, 1\)\."),
        (GAP, rf"float64 of shape \(1,\) {large}"),
        (np.array([-2e150]), rf"float64 of shape \(1,\) {large}"),
        (np.array(3.0), "ndarray"),
        (sp.csr_array((2, 3), dtype=np.int64), r"int64 of shape \(2, 3\)\."),
        ("x", "str"),
    ]:
        with pytest.raises(ModelFormatError, match=f"here: expected kernel, got.*{words}"):
            check(value, "kernel?", {}, "here")

"""Specifications of fitted attributes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler

import gramsmith as gs
from gramsmith.storage import ModelFormatError
from gramsmith.storage.shapes import check, optional

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
]
BAD = [
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

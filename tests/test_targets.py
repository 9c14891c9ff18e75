"""Targets: labels and values of every sort become V, M and e."""

import datetime

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

import gramsmith as gs
from gramsmith.targets import ConstantTarget, as_labels, check_groups, make_target
from oracle import textbook as tb


def dense(target):
    return target.V @ target.M @ target.V.T


LABELS = {
    "signs": np.array([1, -1, 1, 1, -1, 1]),
    "zero one": np.array([1, 0, 1, 1, 0, 1]),
    "unsigned": np.array([1, 0, 1, 1, 0, 1], dtype=np.uint8),
    "bools": np.array([True, False, True, True, False, True]),
    "strings": np.array(["b", "a", "b", "b", "a", "b"]),
    "objects": np.array(["b", "a", "b", "b", "a", "b"], dtype=object),
    "nullable strings": pd.array(["b", "a", "b", "b", "a", "b"], dtype="string"),
    "numpy strings": np.array([np.str_(c) for c in "babbab"], dtype=object),
    "numpy numbers": np.array([np.int32(v) for v in (1, 0, 1, 1, 0, 1)], dtype=object),
    "floats": np.array([2.0, 1.0, 2.0, 2.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("scheme", ["auto", "simplex", "imbalanced", "one_hot", "balanced"])
def test_two_classes_whatever_they_are_called(name, scheme):
    signs = LABELS["signs"]
    kind = {"auto": "binary", "one_hot": "onehot"}.get(scheme, scheme)
    target = make_target(LABELS[name], scheme)
    assert target.kind == "classes"
    assert_allclose(dense(target), tb.target_matrix(signs, kind), atol=1e-15)
    assert_allclose(target.V @ target.e, 1.0)
    assert_allclose(target.centred_diagonal, np.diagonal(tb.centred(dense(target))), atol=1e-15)


@pytest.mark.parametrize(
    ("scheme", "kind"), [("auto", "simplex"), ("one_hot", "onehot"), ("balanced", "balanced")]
)
def test_several_classes(scheme, kind):
    y = np.array([0, 1, 2, 2, 1, 0, 2, 2])
    target = make_target(y, scheme)
    assert_allclose(dense(target), tb.target_matrix(y, kind), atol=1e-15)
    H = np.eye(8) - 1 / 8
    centred = target.V @ target.M_centred @ target.V.T
    assert_allclose(centred, H @ dense(target) @ H, atol=1e-14)
    assert target.norm(target.M) == pytest.approx(np.linalg.norm(dense(target)))


def test_the_old_name_of_a_target_warns():
    with pytest.warns(FutureWarning, match='now called target="imbalanced"'):
        old = make_target([0, 1, 1], "uneven")
    assert_allclose(dense(old), dense(make_target([0, 1, 1], "imbalanced")))
    learner = gs.SpectralAligner(gs.Gaussian(1.0), target="uneven", keep=1.0)
    with pytest.warns(FutureWarning, match='now called target="imbalanced"'):
        learner.fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 0, 1])


def test_imbalanced_target_of_several_classes_is_the_centred_balanced_one():
    y = np.array([0, 1, 2, 2, 1, 0, 2, 2])
    H = np.eye(8) - 1 / 8
    expected = H @ tb.target_matrix(y, "balanced") @ H
    assert_allclose(dense(make_target(y, "imbalanced")), expected, atol=1e-15)


def test_real_values_are_centred(rng):
    y = rng.normal(size=9) + 5
    target = make_target(y)
    assert target.kind == "values"
    assert_allclose(dense(target), tb.target_matrix(y, "regression"), atol=1e-13)
    Y = rng.normal(size=(9, 2))
    assert_allclose(dense(make_target(Y)), tb.target_matrix(Y, "multioutput"), atol=1e-13)


def test_whole_numbers_are_classes_unless_said_otherwise():
    y = np.array([1, 2, 3, 1, 2, 3])
    assert make_target(y).kind == "classes"
    assert make_target(y, task="regression").kind == "values"
    assert make_target(y.astype(float)).kind == "classes"


def test_label_matrix():
    Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    for given in (Y, sp.csr_array(Y)):
        target = make_target(given)
        assert target.kind == "labels"
        assert_allclose(dense(target), tb.target_matrix(Y, "multilabel"))


def test_take_recomputes_centre_and_contrast(rng):
    rows = np.array([0, 2, 3, 5])
    y = rng.normal(size=6)
    assert_allclose(dense(make_target(y).take(rows)), dense(make_target(y[rows])), atol=1e-14)
    labels = LABELS["signs"]
    for scheme in ("auto", "imbalanced", "balanced"):
        part = make_target(labels, scheme).take(np.array([0, 1, 2, 4]))
        assert_allclose(dense(part), dense(make_target(labels[[0, 1, 2, 4]], scheme)))


def test_constant_targets_have_an_error_of_their_own():
    with pytest.raises(ConstantTarget):
        make_target(["a", "a"])
    for value in (2.5, -2.5, 0.0):
        with pytest.raises(ConstantTarget):
            make_target([value, value], task="regression")


def test_a_part_with_equal_values_is_exactly_zero(rng):
    y = np.r_[rng.normal(), np.full(9, rng.normal())]
    w = rng.uniform(size=10)
    part = make_target(y, sample_weight=w).take(np.arange(1, 10))
    assert (part.V[:, 1] == 0).all()


def test_members_of_every_class():
    target = make_target(np.array(["b", "a", "b"]))
    assert [rows.tolist() for rows in target.members] == [[1], [0, 2]]


def test_weights_of_zero_remove_a_class():
    y = np.array([0, 0, 1, 1, 2])
    target = make_target(y, sample_weight=[1, 1, 1, 1, 0])
    assert target.classes.tolist() == [0, 1]
    with pytest.raises(ValueError, match="at least two classes"):
        make_target(y, sample_weight=[1, 1, 0, 0, 0])


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([1, 1, 1], {}, r"two classes, got 1 class: \[1\]"),
        ([0.1, np.nan, 0.3], {}, "NaN or infinity"),
        ([0.1, np.inf, 0.3], {}, "row 1"),
        ([0.1, 0.3, -1e71], {"task": "regression"}, r"below 1e\+70 in size, got -1e\+71 in row 2"),
        ([0.1, 1e71, 0.3], {}, r"below 1e\+70 in size, got 1e\+71 in row 1"),
        (["a", None, "b"], {}, "missing one in row 1"),
        (pd.array(["a", "b", None], dtype="string"), {}, "missing one in row 2"),
        (pd.array([1, None, 2], dtype="Int64"), {}, "in row 1"),
        (np.array([[1, 0], [0, None]], dtype=object), {}, "missing one in row 1"),
        (np.array([1, "a", 2.5], dtype=object), {}, "all numbers, got float and int and str"),
        ([1j, 2, 3], {}, "complex"),
        (None, {}, "got None"),
        ([0.1, 0.2, 0.3], {"task": "classification"}, "class labels, got real numbers"),
        (["a", "b", "c"], {"task": "regression"}, "got 'a' in row 0"),
        ([2.5, 2.5, 2.5], {"task": "regression"}, "constant y"),
        ([0, 1, 0], {"target": "odd"}, "target to be one of"),
        ([0, 1, 0], {"task": "odd"}, "task"),
        ([0, 1, 0], {"sample_weight": [1, 2]}, "one sample_weight per sample"),
        ([0, 1, 0], {"sample_weight": [1, -2, 1]}, ">= 0"),
        ([0, 1, 0], {"sample_weight": [0, 0, 0]}, "not all zero"),
        (np.zeros((2, 2, 2)), {}, "shape"),
        ([[1, 2], [3, 1]], {}, "label matrix"),
    ],
)
def test_bad_targets_say_what_is_wrong(y, options, message):
    with pytest.raises(ValueError, match=message):
        make_target(y, **options)


def test_weights_that_differ():
    y = np.array([0, 1, 0, 1])
    for weights, differ in [
        (None, False),
        ([2, 2, 2, 2], False),
        ([1, 1, 0, 1], False),
        ([1, 1, 2, 1], True),
        ([0.5, 0.5, 1, 0], True),
    ]:
        assert make_target(y, sample_weight=weights).weighted is differ


def test_one_column_is_a_vector_and_one_row_is_not():
    assert as_labels(np.zeros((3, 1))).shape == (3,)
    assert as_labels(np.zeros((1, 3))).shape == (1, 3)
    assert as_labels(np.zeros((1, 1))).shape == (1,)


@pytest.mark.parametrize(
    "groups",
    [
        [datetime.date(2024, 1, 1 + i // 2) for i in range(8)],
        pd.Series(pd.date_range("2024", periods=8, tz="UTC")),
        pd.period_range("2024-01", periods=8, freq="M"),
        pd.cut(np.arange(8.0), 3),
    ],
)
def test_groups_need_only_be_told_apart(groups):
    _, expected = np.unique(np.asarray(groups), return_inverse=True)
    _, found = np.unique(check_groups(groups, 8), return_inverse=True)
    assert found.tolist() == expected.tolist()


def test_groups_that_cannot_be_sorted():
    with pytest.raises(ValueError, match="a missing one in row 1"):
        check_groups(["a", None, "b"], 3)
    with pytest.raises(ValueError, match="got int and str"):
        check_groups(np.array([1, "a", 2], dtype=object), 3)

"""Missing cells and targets."""

import numpy as np
import pytest
import scipy.sparse as sp

from gramsmith.tables.read import Table
from gramsmith.tables.streams import DataError
from gramsmith.tables.target import handle_gaps, read_target


def table(labels=("p", "q", "p", "q"), **columns):
    made = {
        name: np.array(cells, dtype=object if any(isinstance(c, str) for c in cells) else float)
        for name, cells in columns.items()
    }
    return Table("t.csv", made, labels=np.array(labels, dtype=object), target="y")


GAPPY = table(a=[1.0, np.nan, 3.0, 8.0], b=["x", None, "x", "y"])


def test_gaps_are_left_to_the_model():
    assert handle_gaps(GAPPY) == (GAPPY, [])


def test_gaps_are_refused_with_an_offer():
    with pytest.raises(DataError, match=r"row 2, column 'a'.*1 of 4 rows.*rows out"):
        handle_gaps(GAPPY, "error")


def test_gaps_dropped():
    found, told = handle_gaps(GAPPY, "drop")
    assert found.columns["a"].tolist() == [1.0, 3.0, 8.0]
    assert found.labels.tolist() == ["p", "p", "q"]
    assert "1 of 4 rows" in told[0]


def test_missing_labels_and_groups_are_never_made_up():
    gappy = table(labels=["p", None, "q", "q"], a=[1.0, 2.0, 3.0, 4.0])
    for policy in ("error", "impute"):
        with pytest.raises(DataError, match=r"row 2, column .y.*rows out"):
            handle_gaps(gappy, policy)
    assert handle_gaps(gappy, "drop")[0].n_rows == 3
    with pytest.raises(DataError, match=r"row 2, column 'b'.*rows out"):
        handle_gaps(GAPPY, "impute", ("b",))


def test_rows_without_a_target_are_left_out_and_no_others():
    gappy = table(labels=["p", None, "q", "q"], a=[1.0, 2.0, np.nan, 4.0])
    with pytest.raises(DataError, match=r"rows out"):
        handle_gaps(gappy)
    found, told = handle_gaps(gappy, "drop-target")
    assert found.labels.tolist() == ["p", "q", "q"]
    assert np.isnan(found.columns["a"]).tolist() == [False, True, False]
    assert "1 of 4 rows" in told[0]
    none = table(labels=[None] * 4, a=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(DataError, match="expected rows with a target, got none"):
        handle_gaps(none, "drop-target")


def test_strings_without_text():
    strings = Table("s.csv", samples=["AC", None, "GT"], labels=np.array(["p", "q", "p"], object))
    with pytest.raises(DataError, match="row 2"):
        handle_gaps(strings, "impute")
    assert handle_gaps(strings, "drop")[0].samples == ["AC", "GT"]


MATRIX = np.array([[1.0, 0.0], [np.nan, 0.0], [3.0, np.nan], [8.0, 2.0]])


@pytest.mark.parametrize("make", [np.array, sp.csr_array])
def test_gaps_of_matrices(make):
    gappy = Table("m.npz", samples=make(MATRIX), labels=np.array([0.0, 1.0, 0.0, 1.0]))
    with pytest.raises(DataError, match=r"row 2, column.*rows out"):
        handle_gaps(gappy, "error")
    found, told = handle_gaps(gappy, "drop")
    assert sp.coo_array(found.samples).toarray().tolist() == [[1.0, 0.0], [8.0, 2.0]]
    assert "2 of 4 rows" in told[0]


def test_nothing_left():
    with pytest.raises(DataError, match="Keep rows with missing values"):
        handle_gaps(table(a=[np.nan] * 4), "drop")


@pytest.mark.parametrize(
    ("labels", "task", "kind", "dtype"),
    [
        (["a", "b"] * 5, "classification", "auto", "U"),
        (["0", "1"] * 5, "classification", "auto", "i"),
        ([0.0, 1.0] * 5, "classification", "auto", "i"),
        (["0.5", "1"] * 5, "regression", "auto", "f"),
        ([str(i) for i in range(50)], "regression", "auto", "f"),
        ([i % 30 for i in range(90)], "regression", "auto", "f"),
        ([i % 30 for i in range(300)], "classification", "auto", "i"),
        (["1", "2"] * 5, "regression", "regression", "f"),
        (["1.5", "2"] * 5, "classification", "classification", "U"),
        (["1", "two"] * 5, "classification", "auto", "U"),
        (["007", "7"] * 5, "classification", "auto", "U"),
        (["01", "02"] * 5, "classification", "auto", "U"),
        (["1e1", "2"] * 5, "classification", "auto", "U"),
        (["+1", "-1"] * 5, "classification", "auto", "i"),
        (["1.0", "2"] * 5, "classification", "auto", "i"),
        ([f"0{i % 30}" for i in range(90)], "classification", "auto", "U"),
        (["01", "02"] * 5, "regression", "regression", "f"),
        (["1_0", "2"] * 5, "classification", "auto", "U"),
    ],
)
def test_targets(labels, task, kind, dtype):
    found = read_target(Table("t", labels=np.array(labels, dtype=object), target="y"), kind)
    assert found.task == task
    assert found.y.dtype.kind == dtype


def nominal(labels, kind=object):
    return Table("t", labels=np.array(labels, dtype=kind), target="y", nominal=True)


def test_declared_classes_are_kept_as_written():
    assert read_target(nominal(["1", "1.0"] * 5)).y.tolist() == ["1", "1.0"] * 5
    many = read_target(nominal([str(i % 30) for i in range(90)]))
    assert (many.task, many.y[7]) == ("classification", "7")
    assert read_target(nominal([i % 30 for i in range(90)], float)).y[7] == 7
    with pytest.raises(DataError, match="Leave one of them out"):
        read_target(nominal(["1", "2"] * 5), "regression")


def test_labels_equal_as_numbers_stay_apart():
    found = read_target(Table("t", labels=np.array(["007", "7", "8"] * 4, object), target="y"))
    assert found.reason == "the target has 3 classes"
    assert set(found.y.tolist()) == {"007", "7", "8"}


@pytest.mark.parametrize(
    ("labels", "task", "words"),
    [
        (["a"] * 6, "auto", "at least two different labels, got only 'a'"),
        ([f"id{i}" for i in range(9)], "auto", "9 different labels in 9 rows"),
        (["a"] * 5 + ["b"], "auto", "one of 'b'"),
        (["1", "x"] * 4, "regression", "row 2.*'x'"),
        (["1", "01"] * 4, "regression", "at least two different labels"),
    ],
)
def test_targets_that_cannot_be_learned(labels, task, words):
    with pytest.raises(DataError, match=words):
        read_target(Table("t", labels=np.array(labels, dtype=object), target="y"), task)

"""Inputs: what is a table, what is a task."""

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.selection.inputs import is_table, read_inputs, read_target


@pytest.mark.parametrize(
    ("X", "table"),
    [
        (np.zeros((2, 2)), True),
        (pd.DataFrame({"a": [1]}), True),
        ([[1.0], [2.0]], True),
        (["ab", "cd"], False),
        (np.array(["ab", "cd"]), False),
        (np.array(["ab", "cd"], dtype=object), False),
    ],
)
def test_is_table(X, table):
    assert is_table(X) is table


def test_whole_numbers_are_classes_unless_said_otherwise():
    assert read_target([1, 2, 1, 2]).task == "classification"
    assert read_target([1, 2, 1, 2], task="regression").task == "regression"
    assert read_target([1.5, 2.0, 1.0]).task == "regression"


def test_labels_for_regression_are_refused():
    with pytest.raises(ValueError, match="labels such as 'a'"):
        read_target(["a", "b"], task="regression")


def test_values_for_classification_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        read_target([0.5, 1.5], task="classification")


def test_many_whole_numbers_suggest_regression():
    with pytest.raises(ValueError, match='task="regression"'):
        read_target(np.arange(50))


def test_weight_zero_hides_a_class():
    with pytest.raises(ValueError, match="at least two classes"):
        read_target(["a", "b"], sample_weight=[1.0, 0.0])


def test_indicator_view_where_it_matters(rng):
    few = rng.integers(0, 4, size=(100, 5)).astype(float)
    assert len(read_inputs(few, few[:, 0] > 1).views) == 2
    assert len(read_inputs(rng.normal(size=(100, 5)), few[:, 0] > 1).views) == 1


def test_expressions_of_matrices_are_refused(rng):
    K = gs.Gaussian()(rng.normal(size=(20, 2)))
    for kernel in (2.0 * gs.Precomputed(), gs.Normalized(gs.Precomputed())):
        with pytest.raises(ValueError, match="Compute it"):
            gs.rank_kernels(K, np.arange(20) % 2, {"odd": kernel})

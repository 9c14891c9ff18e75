"""Errors and warnings on their way to the user."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from gramsmith.cli.failure import BadData, Refused, about_the_data, collected_warnings


def test_errors_of_the_library_name_the_file():
    with pytest.raises(BadData, match=r"train.csv: Expected more"):
        with about_the_data("train.csv"):
            raise ValueError("Expected more")


def test_other_errors_pass():
    with pytest.raises(TypeError):
        with about_the_data("train.csv"):
            raise TypeError


def test_warnings_are_collected_once_each():
    with collected_warnings() as found:
        for _ in range(2):
            warnings.warn("slow", ConvergenceWarning, stacklevel=1)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        warnings.warn("new categories", UserWarning, stacklevel=1)
        assert found == []
    assert found == ["slow", "new categories"]


def test_refusals_are_status_2():
    assert Refused("no").exit_code == 2

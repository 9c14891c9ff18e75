"""Written csv files: formulas defused, numbers untouched, everything readable again."""

import csv
import io

import pytest

from gramsmith.tables.spreadsheet import safe_cell, write_csv


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_are_defused(text):
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1, -2.5, 1e-9, None, True, "-2.5", "+3", "a=b", ""], ids=repr)
def test_other_values_stay(value):
    assert safe_cell(value) == value


def test_hostile_names_return_as_text():
    stream = io.StringIO()
    write_csv(
        stream, ["=a", "b"], rows=[['x"y,z', "line\nbreak"], ["<script>", 0.1]], shown=safe_cell
    )
    rows = list(csv.reader(io.StringIO(stream.getvalue())))
    assert rows == [["'=a", "b"], ['x"y,z', "line\nbreak"], ["<script>", "0.1"]]

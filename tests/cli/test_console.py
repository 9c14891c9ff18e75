"""What the user sees."""

import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from gramsmith.cli.console import (
    BadData,
    Refused,
    about_the_data,
    cell,
    collected_warnings,
    say,
    show_json,
    show_table,
)
from gramsmith.tables.read import Table

HOSTILE = "<script>\x1b[2J\u202e[bold]$\\frac\x07"


def test_messages_go_to_the_standard_error(capsys):
    say("two\nlines\x1b[2J")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "two\nlines\\x1b[2J\n"


def test_json_is_strict(capsys):
    show_json({"a": [np.nan, np.inf, np.float32(0.5)], "b": (np.int64(3), {1: None}), "c": HOSTILE})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"a": [None, None, 0.5], "b": [3, {"1": None}], "c": HOSTILE}


def test_cells():
    assert [cell(v) for v in (None, float("nan"), True, False, 0.123456, 7, "x")] == [
        *("-", "-", "yes", "", "0.1235", "7", "x")
    ]


def test_tables_are_plain_in_a_pipe(capsys):
    show_table(["kernel", "[red]score"], [[HOSTILE, 0.5], ["b" * 300, None]])
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "[red]score" in shown
    assert "[bold]$\\frac" in shown
    assert "b" * 300 in shown


def test_errors_of_the_library_name_the_file():
    with pytest.raises(BadData, match=r"train.csv: Expected more"):
        with about_the_data(Table("train.csv")):
            raise ValueError("Expected more")


def test_other_errors_pass():
    with pytest.raises(TypeError):
        with about_the_data(Table("train.csv")):
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


def test_nothing_breaks_inside_words_on_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    names = ["kernel", "score", "cka", "kta", "fsm", "csm", "hsic"]
    kernel = "Gaussian, square-root feature weights, half the width"
    show_table(names, [[kernel, *[0.123456] * 6]])
    say(f"{'many words ' * 20}\nand more", err=False)
    shown = capsys.readouterr().out
    assert shown.count("0.1235") == 6  # the columns without room stand below
    assert shown.count(kernel) == 2
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("many words") == 20

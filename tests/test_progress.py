"""How far the work has come: a bar on a terminal, lines elsewhere."""

import io
import sys
import time

import numpy as np
import pytest

import gramsmith as gs
from gramsmith.progress import Progress, printable

HOSTILE = "<script>\x1b[2J\u202e[bold]$\\frac\x07"


def terminal(monkeypatch):
    """Put a terminal in place of the standard error and return it."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def test_nothing_moves_the_cursor():
    assert printable(HOSTILE) == "<script>\\x1b[2J\\u202e[bold]$\\frac\\x07"
    assert printable("λ é 中") == "λ é 中"


def test_progress_without_a_terminal_names_the_stages(capsys):
    with Progress() as progress:
        for done in range(3):
            progress("check", done, 3, "x")
        progress("measures", 1, 1, "y")
    assert capsys.readouterr().err == "check ...\nmeasures ...\n"


def test_progress_without_a_terminal_goes_on_while_a_stage_lasts(capsys):
    with Progress(interval=0.02) as progress:
        progress("check", 2, 30, "Gaussian")
        time.sleep(0.2)
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "check ..."
    assert len(said) > 2
    assert set(said[1:]) == {"check 2 of 30 (Gaussian) after 0 seconds"}
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal(monkeypatch):
    screen = terminal(monkeypatch)
    with Progress() as progress:
        progress("screen", 1, 4, f"[bold]name{HOSTILE}")
        progress("verify", 1, 2, "other")
    shown = screen.getvalue()
    assert "verify" in shown
    assert "\u202e" not in shown


def test_without_rich_a_terminal_has_lines(monkeypatch):
    screen = terminal(monkeypatch)
    for name in ("rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    with Progress() as progress:
        progress("check", 1, 4, "name")
    assert screen.getvalue() == "check ...\n"


@pytest.mark.parametrize("closed", [True, False])
def test_nobody_needs_to_look(closed, monkeypatch):
    screen = io.StringIO()
    screen.isatty = lambda: False
    screen.close()
    monkeypatch.setattr(sys, "stderr", screen if closed else None)  # as without a console
    with Progress(interval=0.01) as progress:
        progress("check", 1, 4, "name")
        time.sleep(0.05)


def test_a_stream_that_can_only_write_is_enough(monkeypatch):
    class Writer:
        said = ""

        def write(self, text):
            self.said += text

    monkeypatch.setattr("sys.stderr", writer := Writer())
    with Progress() as progress:
        progress("check", 1, 3, "rbf")
    assert writer.said == "check ...\n"


def test_a_ranking_shows_how_far_it_is(capsys):
    X = np.random.default_rng(0).normal(size=(60, 2))
    gs.rank_kernels(X, X[:, 0] > 0, ["linear", "rbf"], verbose=1)
    assert capsys.readouterr().err.split(" ...\n")[:-1] == [
        *("read", "check", "measures", "cross-validation", "fit", "estimate"),
        *("evidence", "importance"),
    ]
    gs.KernelSelector(["linear", "rbf"], verbose=True).fit(X, X[:, 0] > 0)
    assert "cross-validation ..." in capsys.readouterr().err
    gs.rank_kernels(X, X[:, 0] > 0, ["linear", "rbf"])
    assert capsys.readouterr().err == ""
    with pytest.raises(ValueError, match="verbose"):
        gs.rank_kernels(X, X[:, 0] > 0, ["linear", "rbf"], verbose="much")


def test_the_bar_of_a_ranking_moves(monkeypatch):
    screen, moved = terminal(monkeypatch), []
    monkeypatch.setattr(
        "rich.progress.Progress.update", lambda bar, task, **news: moved.append(news)
    )
    X = np.random.default_rng(0).normal(size=(60, 2))
    told = []
    gs.rank_kernels(X, X[:, 0] > 0, verbose=True, progress=lambda *news: told.append(news))
    assert [(news["completed"], news["total"]) for news in moved] == [news[1:3] for news in told]
    assert "cross-validation" in screen.getvalue()

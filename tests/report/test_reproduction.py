"""The page: escaped, self-contained, with tones that follow the verdicts."""

import pytest

from gramsmith.report.figure import Curve, Figure, Panel
from gramsmith.report.reproduction import Row, Section, Table, count_text, reproduction_page

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

ROWS = [Row("c", "1", "1", "", "exact"), Row("d", "1", "2", "", "differs", "because <b>")]


def test_page_holds_tables_figures_and_facts():
    figure = Figure(
        "f", "A figure", "what it shows", [Panel("p", "x", "y", [Curve("a", [0], [0])])]
    )
    section = Section(
        "tan", "A <title>", "someone (2012)", "found", [Table("Table 1", ROWS)], [figure]
    )
    verdicts = {"exact": "equal", "differs": "not equal", "new": "ours"}
    page = reproduction_page([section], verdicts, {"gramsmith": "0"})
    assert "A &lt;title&gt;" in page
    assert "because &lt;b&gt;" in page
    assert "<script" not in page
    assert "http://" not in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "1 exact, 1 differs" in page
    assert "<dt>new</dt>" not in page


def test_tones_follow_verdicts():
    tones = {
        verdict: Row("c", "", "", "", verdict).tone
        for verdict in (
            "exact",
            "holds",
            "within tolerance",
            "differs",
            "failed",
            "corrected",
            "new",
        )
    }
    assert tones == {
        "exact": "good",
        "holds": "good",
        "within tolerance": "good",
        "differs": "bad",
        "failed": "bad",
        "corrected": "changed",
        "new": "neutral",
    }


def test_long_tables_start_closed():
    assert Table("t", ROWS).open
    assert not Table("t", ROWS * 50).open


def test_counts_read_well():
    assert count_text(["exact", "new", "exact"]) == "2 exact, 1 new"
    assert count_text([]) == ""

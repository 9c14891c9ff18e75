"""What a reproduction leaves behind: files that parse, escape and come out the same twice."""

import csv
import json
from html.parser import HTMLParser

import numpy as np

from papers import PAPERS, reproduce
from papers.experiment import Experiment, Findings
from papers.figure import Curve, Figure, Panel
from papers.output import heading, make_page, write_output
from papers.record import check, compare


def test_files_and_their_content(tmp_path):
    records = reproduce("lecture-notes/losses", output=tmp_path, quick=True)
    stored = json.loads((tmp_path / "records.json").read_text(encoding="utf-8"))
    assert len(stored["records"]) == len(records)
    assert stored["facts"]["run"] == "quick"
    with (tmp_path / "records.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["verdict"] == records[0].verdict
    page = (tmp_path / "reproduction.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert sorted(p.name for p in (tmp_path / "figures").iterdir()) == [
        "lecture-notes-losses.png",
        "lecture-notes-losses.svg",
    ]


def test_two_runs_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        reproduce("lecture-notes/losses", output=tmp_path / name, quick=True)
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.*"))
    assert files
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.outside = set(), []

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        for key, value in attrs:
            address = key in ("src", "href", "srcset")
            if key.startswith("on") or (address and not value.startswith(("data:", "#"))):
                self.outside.append((tag, key, value))


HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)> $\\frac{1}{0}$ \u202e'


def test_hostile_labels_stay_text(tmp_path):
    record = compare(HOSTILE, HOSTILE, 1.0, 2.0, why=HOSTILE)
    found = [(Experiment("tan", "x", HOSTILE, lambda run: Findings()), Findings([record]))]
    write_output(tmp_path, PAPERS, found, quick=True)
    page = (tmp_path / "reproduction.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen
    assert tags.outside == []
    assert "default-src 'none'" in page


def test_infinity_is_text_in_json(tmp_path):
    found = [(Experiment("tan", "x", "x", len), Findings([compare("t", "c", None, np.inf)]))]
    write_output(tmp_path, PAPERS, found, quick=False)
    assert json.loads((tmp_path / "records.json").read_text())["records"][0]["ours"] == "inf"


def test_formulas_share_a_table():
    assert heading(check("(5)", "u", 0.0)) == ("Formulas and remarks", "(5): u")
    assert heading(check("Figure 3", "angle", 0.0)) == ("Figure 3", "angle")
    assert heading(compare("Table 1", "u", 1.0, 1.0)) == ("Table 1", "u")


def test_papers_that_were_not_run_have_no_section():
    assert "<section>" not in make_page(PAPERS, [], {})


def test_the_page_shows_tables_counts_and_pictures():
    figure = Figure("f", "A <figure>", "caption", [Panel("p", "x", "y", [Curve("a", [0], [1])])])
    records = [compare("Table 1", "a", 1.0, 1.0), compare("Table 1", "b", 1.0, 2.0, why="<b>")]
    records += [check("(5)", "u", 0.0, printed=1.0), compare("Table 2", "c", None, 3.0)]
    found = [(Experiment("tan", "x", "x", len), Findings(records, [figure]))]
    page = make_page(PAPERS, found, {"gramsmith": "0"})
    assert "A &lt;figure&gt;" in page
    assert "&lt;b&gt;" in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert "1 exact, 1 differs, 1 corrected, 1 new" in page
    assert "<dt>new</dt>" in page
    assert "<dt>holds</dt>" not in page
    tones = [f'"verdict {tone}"' for tone in ("good", "bad", "changed", "neutral")]
    assert [page.count(tone) for tone in tones] == [1, 1, 1, 1]


def test_long_tables_start_closed():
    def page(rows):
        found = [(Experiment("tan", "x", "x", len), Findings([compare("t", "c", 1.0, 1.0)] * rows))]
        return make_page(PAPERS, found, {})

    assert "<details open>" in page(90)
    assert "<details open>" not in page(91)

"""What a reproduction leaves behind: files that parse, escape and come out the same twice."""

import csv
import json
import os
from html.parser import HTMLParser

import pytest

from gramsmith.papers import PAPERS, reproduce
from gramsmith.papers.experiment import Experiment, Findings
from gramsmith.papers.output import heading, make_sections, write_file, write_output
from gramsmith.papers.record import check, compare

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


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


def test_text_is_no_formula_in_a_spreadsheet(tmp_path):
    found = [
        (
            Experiment("tan", "x", "x", lambda run: Findings()),
            Findings([compare("=1+1", "@cell", None, float("inf"), note="-2")]),
        )
    ]
    write_output(tmp_path, PAPERS, found, quick=False)
    text = (tmp_path / "records.csv").read_text(encoding="utf-8")
    assert "'=1+1,'@cell,,inf,,new,'-2" in text
    assert json.loads((tmp_path / "records.json").read_text())["records"][0]["ours"] == "inf"


def test_formulas_share_a_table():
    assert heading(check("(5)", "u", 0.0)) == ("Formulas and remarks", "(5): u")
    assert heading(check("Figure 3", "angle", 0.0)) == ("Figure 3", "angle")
    assert heading(compare("Table 1", "u", 1.0, 1.0)) == ("Table 1", "u")


def test_papers_that_were_not_run_have_no_section():
    assert make_sections(PAPERS, []) == []


def test_a_link_in_the_way_is_replaced(tmp_path):
    (tmp_path / "precious").write_text("mine")
    os.symlink(tmp_path / "precious", tmp_path / "out")
    write_file(tmp_path / "out", b"new")
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "out").read_bytes() == b"new"
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        write_file(tmp_path / "out", "text instead of bytes")
    assert os.listdir(tmp_path) == []

"""The page: self-contained, no scripts, every label escaped, the same bytes again."""

import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from gramsmith.report.page import draw, render, visible
from gramsmith.report.pictures import draw_map
from gramsmith.report.words import BandwidthPath, Verdict
from gramsmith.selection.evidence import ColumnPicture, Curve, Evidence, Outcome, Reading

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
MATHS = "$\\frac{a}{b}$ \u202edesrever"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.words = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 3)), columns=[SCRIPT, IMAGE, MATHS])
    y = np.where(X[SCRIPT] * X[IMAGE] > 0, "</style>" + SCRIPT, IMAGE)
    ranking = gs.rank_kernels(X, y, kernels={SCRIPT: "rbf", IMAGE: "linear", MATHS: "laplacian"})
    folder = tmp_path_factory.mktemp("page")
    for name in ("one.html", "two.html"):
        ranking.write_html(folder / name, title=SCRIPT, source=f"../{IMAGE}.csv")
    return folder


@pytest.fixture(scope="module")
def text(page):
    return (page / "one.html").read_text("utf-8")


def test_the_same_bytes_again(page):
    assert (page / "one.html").read_bytes() == (page / "two.html").read_bytes()


def test_under_a_megabyte(page):
    assert (page / "one.html").stat().st_size < 1_000_000


KERNEL = {"rank": 1, "tied": False, "score": 0.912345, "score_error": 0.01, "kernel": "rbf"}
KERNEL |= {"first_check": 0.912345, "first_check_error": 0.01, "verified": "cross-validation"}


def ranking_of(**parts):
    """Return what the page needs of a ranking."""
    estimate = SimpleNamespace(value=0.9, low=0.8, high=0.95, baseline=0.5)
    pictures = {"gram": np.eye(2), "map": np.zeros((2, 2)), "map_colours": np.zeros(2)}
    usual = {"evidence": Evidence(Reading(0), **pictures), "measures": {}, "path": None}
    usual |= {"facts": [("in Python", "Gaussian()")], "sampled": None}
    usual |= {"verdict": Verdict("good", "Good.", "rbf wins.")}
    usual |= {"seconds": {}}
    usual |= {"estimate": estimate, "warnings": [], "task": "regression", "scoring": "r2"}
    usual |= {"summary": {"versions": {"gramsmith": "0"}, "date": "2026-01-02"}}
    usual |= {"other_records": [], "best_other": None}
    return SimpleNamespace(**{**usual, **parts})


def test_under_a_megabyte_with_many_columns_and_kernels():
    rng = np.random.default_rng(0)
    columns = [
        ColumnPicture(f"a column with a name {k}", "input", "number", 3, 900, "", counts, "-3", "3")
        for k, counts in enumerate(rng.integers(0, 99, (1000, 12)).tolist())
    ]
    kernel = {**KERNEL, "rank": 2}
    measures = ("cka", "cka_debiased", "kta", "fsm_loo", "csm", "fsm")
    for name in measures:
        kernel |= {name: 0.123456, f"{name}_error": 0.0123}
    records = [{**kernel, "kernel": f"Gaussian width {k}, categories"} for k in range(500)]
    classes = [f"class {k}" for k in range(8)]
    way = np.linspace(0, 1, 120)
    curves = [Curve(name, way, rng.random(120), 0.9, (0.1, 0.9), 0.1) for name in classes]
    outcome = Outcome("cross-validation", 1000, classes, 9.0 * np.ones((8, 8)))
    outcome = replace(outcome, roc=curves, precision_recall=curves)
    evidence = Evidence(
        Reading(1000, columns, 1000, classes=[(name, 9) for name in classes]),
        outcome,
        gram=rng.random((240, 240)).astype(np.float32),
        map=rng.normal(size=(400, 2)),
        map_colours=np.zeros(400),
        importance=[(f"column {k}", 0.1, 0.01) for k in range(15)],
    )
    steps = np.arange(12.0)
    path = BandwidthPath("gaussian", steps, {name: rng.random(12) for name in measures}, steps)
    page = render(
        ranking_of(
            records=records,
            evidence=evidence,
            measures=dict.fromkeys(measures, True),
            path=path,
        )
    )
    assert len(page.encode()) < 1_000_000
    assert page.count("<tr>") > 1900


def test_no_script_no_request(text):
    parser = Tags()
    parser.feed(text)
    assert not parser.tags & {"script", "iframe", "object", "embed", "link", "form", "a", "img"}
    for tag, name, value in parser.attributes:
        assert not name.startswith("on"), (tag, name)
        if name in ("src", "href", "xlink:href"):
            assert value.startswith(("data:image/png;base64,", "#")), (tag, name, value[:40])
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_strict_policy(text):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy


def test_hostile_names_are_shown_as_text(text):
    parser = Tags()
    parser.feed(text)
    words = "".join(parser.words)
    assert SCRIPT in words
    assert IMAGE in words
    assert "$\\frac{a}{b}$" in words
    assert "\u202e" not in text


def test_page_has_its_parts(text):
    for part in (
        *("What to expect on new data", "Class by class", "Which kernel, and why"),
        *("Where it goes wrong", "What was read", "Gram matrix", "Measures of every kernel"),
        *("Importance of the columns", "What to do next", "How this page was made"),
    ):
        assert part in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert "width=device-width" in text


def test_pictures_follow_the_page_and_not_the_users_style():
    import matplotlib as mpl

    points = np.arange(6.0).reshape(3, 2)
    svg = draw(partial(draw_map, points, points[:, 0], []))
    assert svg.startswith("<svg")
    assert "currentColor" in svg
    assert "<metadata" not in svg
    loud = {"axes.grid": True, "lines.linewidth": 9.0, "font.size": 30.0, "savefig.bbox": "tight"}
    with mpl.rc_context(loud):
        assert draw(partial(draw_map, points, points[:, 0], [])) == svg


def test_titles_are_escaped():
    page = render(ranking_of(records=[KERNEL]), "<b>")
    assert "<h1>&lt;b&gt;</h1>" in page
    assert "How well can “y” be predicted?" in render(ranking_of(records=[KERNEL]), target="y")


def test_steering_characters_are_spelled_out():
    assert visible("a\u202eb\x00") == "a\\u202eb\\u0000"


def test_pages_of_several_outputs_and_of_a_rare_class(rng):
    X = rng.normal(size=(90, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    outputs = pd.DataFrame({"yield": 9.0 * X[:, 0], "<protein>": X.sum(axis=1)})
    page = render(gs.rank_kernels(frame, outputs, ["linear"]))
    assert page.count("Predicted against actual: <bdi>") == 2
    assert "&lt;protein&gt;" in page
    assert "-0.000" not in page
    rare = np.where(X[:, 0] > 0.9, "fault", "works")
    page = render(gs.rank_kernels(frame, rare, ["linear"]))
    assert "probability of fault" in page
    assert "probability of works" not in page

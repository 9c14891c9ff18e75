"""The built documentation in a real browser. `make check-docs` builds and looks."""

import os
import re
import time
from pathlib import Path
from urllib.parse import quote

import pytest

import gramsmith
from tools.browser import PROGRAM, Browser

SITE = Path(os.environ.get("GRAMSMITH_SITE", "."))
pytestmark = [
    pytest.mark.skipif("GRAMSMITH_SITE" not in os.environ, reason="run by make check-docs"),
    pytest.mark.skipif(PROGRAM is None, reason="needs the browser Chromium"),
]
PAGES = (
    "index.html",
    "gallery/index.html",
    "guide/ten_minutes.html",
    "guide/which.html",
    "theory/measures.html",
    "api/generated/gramsmith.cka.html",
    "gallery/measure/what_a_measure_sees.html",
)
# What people type into the search box, and the page that must be among the first three hits, the
# glossary left out: it names every word.
SEARCHES = {
    "imbalanced": "gallery/choose/imbalanced_classes",
    "hyperparameter": "guide/questions",
    "AUC": "guide/questions",
    "multiclass": "guide/questions",
    "leakage": "guide/questions",
    "one-hot": "guide/questions",
    "dummy": "guide/questions",
    "GPU": "guide/questions",
    "SHAP": "guide/questions",
    "categorical": "guide/tables",
    "overfitting": "guide/questions",
    "Excel": "guide/command_line",
    "multilabel": "guide/choose",
    "missing values": "guide/tables",
    "cross-validation": "guide/choose",
    "feature importance": "guide/read_the_report",
    "confusion matrix": "guide/read_the_report",
    "prediction interval": "guide/guarantees",
    "learning curve": "guide/questions",
    "grid search": "gallery/measure/grid_search",
    "time series": "guide/questions",
    "ONNX": "guide/models",
    "SVM": "guide/use",
    "feature selection": "gallery/learn/choose_features",
    "pickle": "guide/models",
    "random forest": "guide/choose",
    "DNA": "guide/strings",
    "drift": "gallery/measure/drift_of_a_table",
}


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.mark.parametrize("page", PAGES)
def test_page(browser, page):
    browser.open(SITE / page, width=360, height=740)
    wide = browser.ask("document.documentElement.scrollWidth")
    assert wide <= 360, "the page scrolls sideways on a phone"
    outside = [url for url in browser.requests if not url.startswith("file://")]
    assert outside == [], "the page asks the network"
    broken = browser.ask(
        "[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    )
    assert broken == []


def test_formulas_are_drawn_without_scripts(browser):
    browser.open(SITE / "theory" / "measures.html")
    sizes = browser.ask(
        "[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)"
    )
    assert len(sizes) > 20
    assert min(sizes) > 5
    # A fraction is higher than a line: the browser really sets it as mathematics.
    assert browser.ask("document.querySelector('mfrac').getBoundingClientRect().height") > 20
    assert browser.ask("document.body.innerText.includes('\\\\frac')") is False


def test_pages_of_names_lead_on():
    parts = {"seealso": "See Also", "sphx-glr-thumbcontainer": "an example of the gallery"}
    lacking = [
        f"{public}: {said}"
        for public in gramsmith._PUBLIC
        for part, said in parts.items()
        if part not in (SITE / "api" / "generated" / f"gramsmith.{public}.html").read_text("utf-8")
    ]
    assert not lacking


@pytest.mark.parametrize("word", SEARCHES)
def test_search(browser, word):
    browser.open(SITE / "search.html", query=f"?q={quote(word)}")
    # the page lists hits one by one; its summary then says so
    deadline = time.monotonic() + 30
    while not browser.ask(
        "/finished|did not/.test(document.querySelector('.search-summary')?.innerText)"
    ):
        assert time.monotonic() < deadline, "the search does not end"
        time.sleep(0.05)
    hits = browser.ask("[...document.querySelectorAll('ul.search > li > a')].map(a => a.href)")
    pages = [
        re.sub(r"[.]html.*", "", hit.removeprefix(f"{SITE.resolve().as_uri()}/")) for hit in hits
    ]
    first = [page for page in dict.fromkeys(pages) if page != "guide/glossary"][:3]
    assert SEARCHES[word] in first


def test_nothing_comes_from_the_network():
    loaded = ('src="http', 'src="//', "@import", 'rel="stylesheet" href="http')
    wrong = [
        str(page.relative_to(SITE))
        for page in SITE.rglob("*.html")
        if any(mark in page.read_text(encoding="utf-8") for mark in loaded)
    ]
    assert wrong == []

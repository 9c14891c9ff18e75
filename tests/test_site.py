"""The built documentation in a real browser. `make check-docs` builds and looks."""

import os
from pathlib import Path

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


@pytest.mark.parametrize("public", gramsmith._PUBLIC)
def test_page_of_a_name(public):
    page = SITE / "api" / "generated" / f"gramsmith.{public}.html"
    text = page.read_text(encoding="utf-8")
    assert "seealso" in text
    assert "sphx-glr-thumbcontainer" in text, "no example of the gallery leads here"


def test_nothing_comes_from_the_network():
    loaded = ('src="http', 'src="//', "@import", 'rel="stylesheet" href="http')
    wrong = [
        str(page.relative_to(SITE))
        for page in SITE.rglob("*.html")
        if any(mark in page.read_text(encoding="utf-8") for mark in loaded)
    ]
    assert wrong == []

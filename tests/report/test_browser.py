"""The page in a real browser: it fits, nothing overlaps, it can be read, it asks for nothing."""

import numpy as np
import pandas as pd
import pytest

import gramsmith as gs
from tools.browser import PROGRAM, Browser

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs the browser Chromium")

HOSTILE = [
    "<script>console.log('run')</script>",
    '"><img src="http://leak.test/x.png">',
    "$\\frac$",
]
CONTROL = """<!doctype html><title>control</title><meta name=viewport content="width=device-width">
<style>p { color: #aaa; background: #fff; width: 700px } svg { width: 200px }</style>
<img src="http://leak.test/seen.png"><script>console.log("heard")</script><p>pale words</p>
<b style="display: block; width: 2em; overflow-wrap: anywhere">broken</b>
<svg viewBox="0 0 100 40"><text x="5" y="20">first</text><text x="9" y="22">second</text></svg>"""

# What is seen and where: texts of one picture that touch, boxes of one row that do.
OVERLAPS = """(() => {
  const found = [];
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                         Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1.5;
  const groups = [...document.querySelectorAll('svg')].map(s => [...s.querySelectorAll('text')])
    .concat([...document.querySelectorAll('tr')].map(r => [...r.children]))
    .concat([[...document.querySelectorAll('.rival, section, figcaption, figure > p')]
             .filter(e => !e.querySelector('figure, .rival, p'))]);
  for (const group of groups) {
    const boxes = group.filter(e => e.checkVisibility())
                       .map(e => [e.textContent.trim(), e.getBoundingClientRect()])
                       .filter(([t, b]) => t && b.width > 0);
    for (let i = 0; i < boxes.length; i++)
      for (let j = 0; j < i; j++)
        if (meet(boxes[i][1], boxes[j][1])) found.push(boxes[i][0] + ' / ' + boxes[j][0]);
  }
  return found;
})()"""

# Texts that leave the card they stand in.
OUTSIDE = """(() => {
  const found = [];
  for (const svg of document.querySelectorAll('figure svg')) {
    if (!svg.checkVisibility()) continue;  // folded away
    const card = svg.closest('figure').getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.width && (box.left < card.left - 1 || box.right > card.right + 1))
        found.push(text.textContent);
    }
  }
  return found;
})()"""

# Words of a table or a sentence that are broken within; longer ones may have to be.
SPLIT = """(() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, range = document.createRange();
    if (!node.parentElement.checkVisibility() || node.parentElement.closest('svg, pre, style'))
      continue;
    for (const word of node.data.matchAll(/[^\\s\\/-]{1,14}(?![^\\s\\/-])/g)) {
      if (word.index && /[^\\s\\/-]/.test(node.data[word.index - 1])) continue;
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1)
        found.push(word[0]);
    }
  }
  return found;
})()"""

# Contrast of every text with what is painted behind it; large ones may have 3, others have 4.5.
PALE = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = c => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((v, k) => k < 3 ? v : v / 255);
  };
  const over = (a, b) => [0, 1, 2].map(k => a[k] * a[3] + b[k] * (1 - a[3])).concat([1]);
  const light = c => [0.2126, 0.7152, 0.0722].reduce((s, w, k) => {
    const v = c[k] / 255;
    return s + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.getClientRects().length) continue;
    if (['STYLE', 'SCRIPT', 'TITLE'].includes(e.tagName)) continue;
    const style = getComputedStyle(e), behind = [];
    if (e.closest('svg')?.querySelector('image') && style.fill == 'rgb(11, 16, 21)') continue;
    for (let p = e; p; p = p.parentElement) behind.push(rgba(getComputedStyle(p).backgroundColor));
    let back = [255, 255, 255, 1];
    for (const c of behind.reverse()) back = over(c, back);
    const ink = over(rgba(e.closest('svg') ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
    const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < least) found.push([walk.currentNode.textContent.trim().slice(0, 40), ratio]);
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


def hostile():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)), columns=HOSTILE)
    y = np.where(X[HOSTILE[0]] * X[HOSTILE[1]] > 0, HOSTILE[0], HOSTILE[1])
    return gs.rank_kernels(X, y, kernels=["rbf", "linear"])


def seven_classes():
    """Imbalanced classes of long names, and columns of several kinds."""
    rng = np.random.default_rng(1)
    names = np.array(
        [
            "Lodgepole Pine",
            "Aspen",
            "Cottonwood/Willow",
            "Krummholz",
            "Ponderosa Pine",
            "Douglas-fir",
            "Spruce-Fir",
        ]
    )
    y = rng.choice(7, 260, p=np.array([9, 5, 3, 2, 1.5, 1, 0.8]) / 22.3)
    X = pd.DataFrame(rng.normal(size=(260, 6)) + np.eye(7)[y][:, :6] * 2.5)
    X = X.add_prefix("a measurement with a long name ").assign(
        place=rng.choice(["north", "south"], 260)
    )
    return gs.rank_kernels(X, names[y])


@pytest.fixture(scope="module")
def pages(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "hostile": hostile(),
        "seven": seven_classes(),
        "values": request.getfixturevalue("regression"),
    }
    for name, ranking in made.items():
        title = HOSTILE[1] if name == "hostile" else None
        ranking.write_html(folder / f"{name}.html", title=title, source="data.csv")
    return folder


def test_the_test_can_fail(browser, tmp_path):
    """A page with every fault: the checks below must see them."""
    page = tmp_path / "control.html"
    page.write_text(CONTROL)
    browser.open(page, width=360)
    assert any("heard" in line for line in browser.console)
    assert any("leak.test/seen.png" in url for url in browser.requests)
    assert browser.ask("document.documentElement.scrollWidth") > 360
    assert browser.ask(OVERLAPS) == ["second / first"]
    assert browser.ask(SPLIT) == ["broken"]
    assert [text for text, _ in browser.ask(PALE)] == ["pale words"]


@pytest.mark.parametrize("name", ["hostile", "seven", "values"])
@pytest.mark.parametrize(
    "look",
    [
        {"width": 360},
        {"width": 1280},
        {"width": 1280, "dark": True},
        {"width": 720, "paper": True},
    ],
    ids=["phone", "desktop", "dark", "paper"],
)
def test_the_page(browser, pages, name, look):
    browser.open(pages / f"{name}.html", **look)
    assert browser.requests == []
    assert browser.console == []
    assert browser.ask("document.scripts.length") == 0
    assert browser.ask("document.documentElement.scrollWidth") <= look["width"]
    assert browser.ask(OVERLAPS) == []
    assert browser.ask(OUTSIDE) == []
    assert name == "hostile" or browser.ask(SPLIT) == []
    assert browser.ask(PALE) == []


def test_measures_are_folded_and_can_be_opened(browser, pages):
    browser.open(pages / "seven.html", width=360)
    shown = "document.querySelector('.measures').checkVisibility()"
    assert not browser.ask(shown)
    browser.ask("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.ask(shown)
    assert browser.ask("document.documentElement.scrollWidth") <= 360
    assert browser.ask(PALE) == []

"""What pages show of a run is what the command prints now: the tutorial, the README, the arena."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RECORD = DOCS / "_static" / "recorded.json"
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# of an accuracy or a width: other builds of BLAS differ in the last digits
TOLERANCE = 0.02


@pytest.fixture(scope="module")
def recorded():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def same(old, new):
    """Return whether two texts have the same words, and numbers that differ by rounding only."""
    if NUMBER.sub("#", old) != NUMBER.sub("#", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    values = ((float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs)
    return all(abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) for a, b in values)


def test_numbers_may_round_and_words_may_not():
    assert same("1 = Gaussian width 5.05  0.9808", "1 = Gaussian width 5.06  0.9807")
    assert not same("1 = Gaussian width 5.05", "1 = Laplacian width 5.05")
    assert not same("accuracy 0.97", "accuracy 0.90")


def test_the_arena_is_drawn_from_its_tables(recorded):
    assert recorded["arena"] == digest_of_tables()


def digest_of_tables():
    tables = sorted(DOCS.glob("arena_*-kinds.csv"))
    return hashlib.sha256(b"".join(table.read_bytes() for table in tables)).hexdigest()


@pytest.mark.parametrize(
    ("page", "first", "last"),
    [
        ("README.md", "Predicts", "This model"),
        ("docs/index.rst", "Predicts", "This model"),
        ("docs/guide/choose.rst", "Predicts", "= is a tie"),
    ],
)
def test_pages_quote_the_demo(recorded, page, first, last):
    lines = [line.strip() for line in (ROOT / page).read_text(encoding="utf-8").splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith(first))
    end = next(i for i, line in enumerate(lines[start:], start) if line.startswith(last))
    # pages may break lines, and leave out what stands between the verdict and the table
    printed = " ".join(recorded["demo"].split())
    for line in filter(None, lines[start : end + 1]):
        assert " ".join(line.split()) in printed


@pytest.mark.slow
def test_the_commands_print_what_is_shown(recorded, tmp_path):
    pytest.importorskip("PIL")
    spec = importlib.util.spec_from_file_location("screenshots", DOCS / "screenshots.py")
    screenshots = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(screenshots)
    screenshots.prepare(tmp_path)
    for step, command in screenshots.RECORDED.items():
        printed = screenshots.printed(command, tmp_path)
        assert same(recorded[step], printed), "run docs/screenshots.py, and look at the pictures"

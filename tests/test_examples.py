"""The gallery: short scripts that together use every public name. `make docs` runs them."""

import ast
import re
from pathlib import Path

import pytest

import gramsmith

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").rglob("*.py"))


def names_in(path):
    """Return the public names that a script uses, or links to in its text."""
    text = path.read_text(encoding="utf-8")
    used = {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "gs"
    }
    return used, set(re.findall(r":\w+:`~gramsmith\.(\w+)`", text))


def test_there_are_many():
    assert len(SCRIPTS) >= 30


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script(path):
    text = path.read_text(encoding="utf-8")
    title, underline, blank = ast.get_docstring(ast.parse(text)).splitlines()[:3]
    assert underline == "=" * len(title), "the gallery needs a title"
    assert blank == ""
    assert text.count("\n") <= 90
    used, linked = names_in(path)
    assert used | linked <= set(gramsmith._PUBLIC)
    shows = "plt.show()" in text or "pd.DataFrame(" in text
    assert shows, "an example ends in a picture or a table"


def test_every_public_name_is_in_a_script():
    used, linked = (set().union(*names) for names in zip(*map(names_in, SCRIPTS), strict=True))
    # what functions return, not typed by anyone
    results = {"DriftResult", "Evaluation", "KernelRanking", "KernelTest", "RepresentationMatrix"}
    results |= {"ThresholdTable"}
    assert not set(gramsmith._PUBLIC) - used - results
    assert results <= linked


def test_every_name_has_a_task():
    # docs/conf.py makes the pages of the reference from this list; warnings there are errors.
    listed = (ROOT / "docs" / "tasks.py").read_text(encoding="utf-8")
    words = set(re.findall(r"\w+", listed))
    assert not set(gramsmith._PUBLIC) - words

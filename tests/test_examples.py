"""The gallery: short scripts that together use every public name. `make docs` runs them."""

import ast
import re
from pathlib import Path

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


def faults(path):
    """Yield what is wrong with a script."""
    text = path.read_text(encoding="utf-8")
    title, underline, blank = ast.get_docstring(ast.parse(text)).splitlines()[:3]
    if underline != "=" * len(title) or blank:
        yield "the gallery needs a title"
    if text.count("\n") > 90:
        yield "more than 90 lines"
    if unknown := set().union(*names_in(path)) - set(gramsmith._PUBLIC):
        yield f"no public names: {unknown}"
    if "plt.show()" not in text and "pd.DataFrame(" not in text:
        yield "an example ends in a picture or a table"


def test_scripts():
    assert not [f"{path.stem}: {fault}" for path in SCRIPTS for fault in faults(path)]


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

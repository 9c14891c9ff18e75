"""Sphinx configuration; the API reference is written from the list of public names."""

from importlib import import_module
from inspect import isclass
from pathlib import Path

import gramsmith

project = "gramsmith"
author = "gramsmith developers"
copyright = "2026, gramsmith developers"
version = release = gramsmith.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "code"
nitpicky = False

html_theme = "furo"
html_title = f"gramsmith {version}"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Where a public name comes from -> the heading it stands under.
HEADINGS = {
    "gramsmith.kernels": "Kernels",
    "gramsmith.gram": "The Gram matrix",
    "gramsmith.evaluation": "Measures",
    "gramsmith.learning": "Learners",
    "gramsmith.machines": "Machines",
    "gramsmith.selection": "Choosing",
    "gramsmith.storage": "Keeping",
}


def write_reference(folder):
    """Write the index of the API reference: one table per module, one page per public name."""
    pieces = ["API reference", "=============", "", ".. currentmodule:: gramsmith", ""]
    for module in dict.fromkeys(gramsmith._PUBLIC.values()):
        heading = HEADINGS.get(module, module)
        names = sorted(n for n, home in gramsmith._PUBLIC.items() if home == module)
        pieces += [heading, "-" * len(heading), ""]
        for wanted in (True, False):
            chosen = [n for n in names if isclass(getattr(import_module(module), n)) is wanted]
            if chosen:
                pieces += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
                pieces += [f"   {n}" for n in chosen] + [""]
    folder.mkdir(exist_ok=True)
    text = "\n".join(pieces)
    page = folder / "index.rst"
    # An unchanged file keeps its date, so that a second build has nothing to do.
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


write_reference(Path(__file__).parent / "api")

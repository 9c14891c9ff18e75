"""Sphinx configuration; the API reference is written from the list of public names."""

import re
from importlib import import_module
from inspect import getmembers, isclass, isroutine
from pathlib import Path

import gramsmith
from gramsmith.kernels import Kernel

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
    "gramsmith.gram.dask": "Clusters",
    "gramsmith.evaluation": "Measures",
    "gramsmith.learning": "Learners",
    "gramsmith.machines": "Machines",
    "gramsmith.selection": "Choosing",
    "gramsmith.tables": "Tables",
    "gramsmith.storage": "Keeping",
    "gramsmith.export": "Other programs",
}
# Classes that are public, but not at the top level: module -> heading, classes.
PICTURES = sorted(n for n in vars(import_module("gramsmith.report")) if n.endswith("Display"))
INNER = {
    "gramsmith.measures": ("A measure of your own", ["Measure", "Scalar", "Sums"]),
    "gramsmith.learning": ("An objective of your own", ["Objective"]),
    "gramsmith.report": ("Pictures", PICTURES),
}
PUBLIC = {name: getattr(import_module(home), name) for name, home in gramsmith._PUBLIC.items()}


def reference():
    """Return the index of the API reference: tables by module, classes before functions."""
    pieces = ["API reference", "=============", "", ".. currentmodule:: gramsmith", ""]
    for module in dict.fromkeys(gramsmith._PUBLIC.values()):
        heading = HEADINGS[module]
        names = sorted(n for n, home in gramsmith._PUBLIC.items() if home == module)
        pieces += [heading, "-" * len(heading), ""]
        for wanted in (True, False):
            chosen = [n for n in names if isclass(PUBLIC[n]) is wanted]
            if chosen:
                pieces += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
                pieces += [f"   {n}" for n in chosen] + [""]
    for module, (heading, names) in INNER.items():
        pieces += [heading, "-" * len(heading), "", f".. currentmodule:: {module}", ""]
        pieces += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        pieces += [f"   {n}" for n in names] + [""]
    return "\n".join(pieces)


def shown_methods(item):
    """Return the methods a page lists: gramsmith's own, for kernels without the protocol."""
    methods = []
    for name, _ in getmembers(item, isroutine):
        owner, *others = [c for c in item.__mro__ if name in vars(c)] or [object]
        protocol = issubclass(item, Kernel) and (owner is not item or others)
        internal = name.startswith("_") or re.fullmatch(r"set_\w+_request", name)
        if owner.__module__.startswith("gramsmith") and not (internal or protocol):
            methods.append(name)
    return methods


def escape_symbols(app, what, name, item, options, lines):
    """Let |x| and alpha_ stand for themselves in docstrings, where reST would see markup."""
    formula, session = None, False  # indentation of a math directive; inside an example
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if line.strip() and formula is not None and indent <= formula:
            formula = None
        if line.lstrip().startswith(".. math::"):
            formula = indent
        session = bool(line.strip()) and (session or line.lstrip().startswith(">>>"))
        if formula is None and not session:
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts[::2]]
            if not re.match(r"\s*[\w, ]+( : |$)", line):  # numpydoc reads those names itself
                parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app):
    """Register the docstring hook ahead of numpydoc's."""
    app.connect("autodoc-process-docstring", escape_symbols, priority=100)


autosummary_context = {
    "shown": {name: shown_methods(item) for name, item in PUBLIC.items() if isclass(item)}
    | {
        name: shown_methods(getattr(import_module(module), name))
        for module, (_, names) in INNER.items()
        for name in names
    }
}
page = Path(__file__).parent / "api" / "index.rst"
page.parent.mkdir(exist_ok=True)
# An unchanged file keeps its date, so that a second build has nothing to do.
if not page.exists() or page.read_text(encoding="utf-8") != reference():
    page.write_text(reference(), encoding="utf-8")

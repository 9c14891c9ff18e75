"""Sphinx configuration; the API reference is written from the list of public names."""

import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from inspect import getmembers, isclass, isroutine
from pathlib import Path

from sphinx.util import logging

import gramsmith
from gramsmith.kernels import Kernel

# one example starts a cluster, whose messages are not for whoever builds the pages
os.environ["DASK_LOGGING__DISTRIBUTED"] = "error"

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # this folder's own modules
tasks = import_module("tasks")

LOGGER = logging.getLogger(__name__)

project = "gramsmith"
author = "gramsmith developers"
copyright = "2026, gramsmith developers"
version = release = gramsmith.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "names",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/README.rst"]
default_role = "name"
nitpicky = False
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"gramsmith {version}"
# Formulas need a font that knows how to set them, and not every system has one.
FONT = Path(find_spec("ziamath").origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"
html_static_path = ["_static", str(FONT)]
html_css_files = ["site.css"]
html_show_sphinx = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

PUBLIC = {name: getattr(import_module(home), name) for name, home in gramsmith._PUBLIC.items()}
TASKS = tasks.TASKS
HOMES = {name: task for task in TASKS for name in task.names}
ITEMS = {name: getattr(import_module(task.module), name) for name, task in HOMES.items()}
if missing := set(PUBLIC) - set(HOMES):
    raise RuntimeError(f"docs/tasks.py has no task for {sorted(missing)}")


def reference():
    """Return the index of the API reference: a table for every task."""
    pieces = ["API by task", "===========", ""]
    pieces += ["What do you want to do? Every name leads to its page, with examples that ran.", ""]
    for task in TASKS:
        pieces += [task.heading, "-" * len(task.heading), "", f".. currentmodule:: {task.module}"]
        pieces += ["", f"{task.sentence} See :doc:`/{task.guide}`.", ""]
        pieces += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        pieces += [f"   {name}" for name in task.names] + [""]
    return "\n".join(pieces)


def around(name):
    """Return what stands around the page of a name: its relatives, its guide, its examples."""
    task = HOMES[name]
    others = [n for n in tasks.related(HOMES, TASKS)[name]]
    return {
        "full": f"{task.module}.{name}",
        "guide": task.guide,
        "sentence": task.sentence,
        "names": [
            (other, f"{HOMES[other].module}.{other}", ITEMS[other].__doc__.strip().split("\n")[0])
            for other in others
        ],
    }


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


def check_back_references(app, exception):
    """Warn of public names that no example of the gallery uses."""
    if exception is not None or app.builder.name != "html":
        return
    for name in PUBLIC:
        page = Path(app.outdir) / "api" / "generated" / f"gramsmith.{name}.html"
        if "sphx-glr-thumbcontainer" not in page.read_text(encoding="utf-8"):
            LOGGER.warning("no example of the gallery uses gramsmith.%s", name)


def setup(app):
    """Register the docstring hook ahead of numpydoc's, and the check of the gallery."""
    app.connect("autodoc-process-docstring", escape_symbols, priority=100)
    app.connect("build-finished", check_back_references)


FOLDERS = [
    "measure",
    "kernels",
    "learn",
    "predict",
    "choose",
    "strings",
    "matrices",
    "scale",
    "keep",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("gramsmith",),
    "subsection_order": [f"../examples/{folder}" for folder in FOLDERS],
    "within_subsection_order": "FileNameSortKey",
    "reset_modules": ("matplotlib", "look.draw_plainly"),
    "ignore_repr_types": r"matplotlib|numpy|Text|list|tuple",
    "abort_on_example_error": True,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "image_srcset": ["2x"],
}
autosummary_context = {
    "shown": {name: shown_methods(item) for name, item in ITEMS.items() if isclass(item)},
    "around": {name: around(name) for name in HOMES},
}
page = HERE / "api" / "index.rst"
page.parent.mkdir(exist_ok=True)
# An unchanged file keeps its date, so that a second build has nothing to do.
if not page.exists() or page.read_text(encoding="utf-8") != reference():
    page.write_text(reference(), encoding="utf-8")

"""Output: records as CSV and JSON, figures as SVG and PNG, and one page with all of it."""

from __future__ import annotations

import base64
import csv
import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import scipy
import sklearn

from gramsmith import __version__
from papers.experiment import Experiment, Findings, Paper
from papers.figure import Figure, draw
from papers.record import VERDICTS, Record, count_verdicts

COLUMNS = ("paper", "table", "cell", "published", "ours", "tolerance", "verdict", "note")
TONES = {
    **dict.fromkeys(("exact", "within tolerance", "holds"), "good"),
    **dict.fromkeys(("differs", "failed"), "bad"),
    **dict.fromkeys(("corrected", "fitted"), "changed"),
}

Found = Sequence[tuple[Experiment, Findings]]


def write_output(folder: Path, papers: dict[str, Paper], found: Found, quick: bool) -> None:
    """Write records.csv, records.json, figures/ and reproduction.html into a folder.

    Parameters
    ----------
    folder : Path
    papers : dict of name -> Paper
    found : list of (Experiment, Findings)
    quick : bool
        Said on the page.
    """
    records = [record.plain() for _, findings in found for record in findings.records]
    facts = {
        "gramsmith": __version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "Python": platform.python_version(),
        "run": "quick" if quick else "full",
    }
    with (folder / "records.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(records)
    plain = {"facts": facts, "records": [jsonable(record) for record in records]}
    text = json.dumps(plain, indent=1, ensure_ascii=False)
    (folder / "records.json").write_text(text, encoding="utf-8")
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for _, findings in found:
        for figure in findings.figures:
            for form in ("svg", "png"):
                (figures / f"{figure.name}.{form}").write_bytes(draw(figure, form))
    page = make_page(papers, found, facts)
    (folder / "reproduction.html").write_text(page, encoding="utf-8")


def make_page(papers: dict[str, Paper], found: Found, facts: dict[str, str]) -> str:
    """Return the page: one HTML file with every table and figure in it, and no script.

    Parameters
    ----------
    papers : dict of name -> Paper
    found : list of (Experiment, Findings)
    facts : dict
        Versions and settings of the run.

    Returns
    -------
    str
    """
    sections = [
        _section(paper, [findings for e, findings in found if e.paper == paper.name])
        for paper in papers.values()
        if any(e.paper == paper.name for e, _ in found)
    ]
    counts = count_verdicts([record for _, findings in found for record in findings.records])
    source = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.from_string(source).render(
        sections=sections,
        counts=counts,
        meanings=VERDICTS,
        tones=TONES,
        facts=facts,
        picture=_picture,
        in_words=in_words,
    )


def _section(paper: Paper, mine: list[Findings]) -> dict[str, Any]:
    """Return what the page shows of a paper; its records are grouped by table."""
    records = [record for findings in mine for record in findings.records]
    tables: dict[str, list[tuple[str, Record]]] = {}
    for record in records:
        title, cell = heading(record)
        tables.setdefault(title, []).append((cell, record))
    return {
        "paper": paper,
        "byline": f"{paper.authors} ({paper.year})" if paper.year else paper.authors,
        "counts": count_verdicts(records),
        "tables": {
            title: (count_verdicts([record for _, record in rows]), rows)
            for title, rows in tables.items()
        },
        "figures": [figure for findings in mine for figure in findings.figures],
    }


def heading(record: Record) -> tuple[str, str]:
    """Return the table of the page a record belongs to, and its name there.

    Formulas have a number each; on the page they share one table.
    """
    if record.verdict in ("holds", "corrected") and not record.table.startswith(
        ("Table", "Figure")
    ):
        return "Formulas and remarks", f"{record.table}: {record.cell}"
    return record.table, record.cell


def in_words(counts: dict[str, int]) -> str:
    """Return counts as text, such as "3 exact, 1 differs"."""
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _picture(figure: Figure, theme: str) -> str:
    """Return a figure as an address that needs no file."""
    return f"data:image/svg+xml;base64,{base64.b64encode(draw(figure, 'svg', theme)).decode()}"


def jsonable(plain: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no infinity: it becomes text."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in plain.items()
    }

"""Output: records as CSV and JSON, figures as SVG and PNG, and the page."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from gramsmith import __version__
from gramsmith.papers.experiment import Experiment, Findings, Paper
from gramsmith.papers.record import VERDICTS, Record
from gramsmith.report.draw import draw
from gramsmith.report.reproduction import Row, Section, Table, reproduction_page

COLUMNS = ("paper", "table", "cell", "published", "ours", "tolerance", "verdict", "note")


def write_output(
    folder: Path,
    papers: dict[str, Paper],
    found: Sequence[tuple[Experiment, Findings]],
    quick: bool,
) -> None:
    """Write records.csv, records.json, figures/ and reproduction.html into a folder.

    Parameters
    ----------
    folder : Path
    papers : dict of name -> Paper
    found : list of (Experiment, Findings)
    quick : bool
        Said on the page.
    """
    records = [record for _, findings in found for record in findings.records]
    facts = {
        "gramsmith": __version__,
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "Python": platform.python_version(),
        "run": "quick" if quick else "full",
    }
    write_file(folder / "records.csv", _csv(records).encode("utf-8"))
    plain = {"facts": facts, "records": [_jsonable(record.plain()) for record in records]}
    write_file(
        folder / "records.json", json.dumps(plain, indent=1, ensure_ascii=False).encode("utf-8")
    )
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for _, findings in found:
        for figure in findings.figures:
            write_file(figures / f"{figure.name}.svg", draw(figure, "svg"))
            write_file(figures / f"{figure.name}.png", draw(figure, "png"))
    page = reproduction_page(make_sections(papers, found), VERDICTS, facts)
    write_file(folder / "reproduction.html", page.encode("utf-8"))


def make_sections(
    papers: dict[str, Paper], found: Sequence[tuple[Experiment, Findings]]
) -> list[Section]:
    """Return one section per paper, its records grouped by table."""
    sections = []
    for paper in papers.values():
        mine = [findings for experiment, findings in found if experiment.paper == paper.name]
        if not mine:
            continue
        tables: dict[str, list[Row]] = {}
        for findings in mine:
            for record in findings.records:
                title, cell = heading(record)
                row = Row(cell, *record.texts(), record.verdict, record.note)
                tables.setdefault(title, []).append(row)
        sections.append(
            Section(
                paper.name,
                paper.title,
                f"{paper.authors} ({paper.year})" if paper.year else paper.authors,
                paper.summary,
                [Table(title, rows) for title, rows in tables.items()],
                [figure for findings in mine for figure in findings.figures],
            )
        )
    return sections


def heading(record: Record) -> tuple[str, str]:
    """Return the table of the page a record belongs to, and its name there.

    Formulas have a number each; on the page they share one table.
    """
    if record.verdict in ("holds", "corrected") and not record.table.startswith(
        ("Table", "Figure")
    ):
        return "Formulas and remarks", f"{record.table}: {record.cell}"
    return record.table, record.cell


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; a link in its place is replaced, not followed."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _csv(records: Sequence[Record]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for record in records:
        plain = record.plain()
        writer.writerow([_cell(plain[column]) for column in COLUMNS])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    """Keep spreadsheets from taking a text for a formula."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return "" if value is None else value


def _jsonable(plain: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no infinity: it becomes text."""
    return {
        key: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in plain.items()
    }

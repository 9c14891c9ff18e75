"""The page of a reproduction: one HTML file with every table and figure in it, and no script."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from gramsmith.report.draw import draw
from gramsmith.report.figure import Figure

GOOD = ("exact", "within tolerance", "holds")
BAD = ("differs", "failed")


@dataclass(frozen=True)
class Row:
    """A line of a table, as text."""

    cell: str
    published: str
    ours: str
    tolerance: str
    verdict: str
    note: str = ""

    @property
    def tone(self) -> str:
        """How the verdict looks: good, bad, changed or neutral."""
        if self.verdict in GOOD:
            return "good"
        if self.verdict in BAD:
            return "bad"
        return "changed" if self.verdict == "corrected" else "neutral"


@dataclass(frozen=True)
class Table:
    """The rows of one table of a paper."""

    title: str
    rows: list[Row]

    @property
    def counts(self) -> str:
        """How many rows have each verdict, as text."""
        return count_text([row.verdict for row in self.rows])

    @property
    def open(self) -> bool:
        """Whether the page shows the rows at once."""
        return len(self.rows) <= 90


@dataclass(frozen=True)
class Section:
    """A paper: who wrote it, what was found, tables and figures."""

    name: str
    title: str
    byline: str
    summary: str
    tables: list[Table] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)

    @property
    def counts(self) -> str:
        """How many rows have each verdict, as text."""
        return count_text([row.verdict for table in self.tables for row in table.rows])


def count_text(verdicts: list[str]) -> str:
    """Return verdicts as text, such as "3 exact, 1 differs"."""
    return ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts))


def data_uri(content: bytes, kind: str) -> str:
    """Return bytes as an address that needs no file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def reproduction_page(
    sections: list[Section], verdicts: dict[str, str], facts: dict[str, str]
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    sections : list of Section
    verdicts : dict
        What each verdict means.
    facts : dict
        Versions and settings of the run.

    Returns
    -------
    str

    Examples
    --------
    >>> from gramsmith.report.reproduction import Section, reproduction_page
    >>> page = reproduction_page([Section("a", "A <b>", "", "")], {}, {})
    >>> "A &lt;b&gt;" in page
    True
    """
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "Expected jinja2 for the page, got none. Run: pip install 'gramsmith[plot]'"
        ) from error
    source = files("gramsmith.report").joinpath("templates", "reproduction.html").read_text("utf-8")
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        source
    )
    pictures: dict[str, dict[str, Any]] = {
        figure.name: {
            theme: data_uri(draw(figure, "svg", theme), "image/svg+xml")
            for theme in ("light", "dark")
        }
        for section in sections
        for figure in section.figures
    }
    rows = [row for section in sections for table in section.tables for row in table.rows]
    used = [verdict for verdict in verdicts if any(row.verdict == verdict for row in rows)]
    html: str = template.render(
        sections=sections,
        verdicts={verdict: verdicts[verdict] for verdict in used},
        counts={verdict: sum(row.verdict == verdict for row in rows) for verdict in used},
        per_paper={
            section.name: {
                v: sum(row.verdict == v for table in section.tables for row in table.rows)
                for v in used
            }
            for section in sections
        },
        pictures=pictures,
        facts=facts,
        total=len(rows),
    )
    return html

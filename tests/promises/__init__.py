"""Promises of the documentation and the simulation of each.

The page ``docs/theory/promises.rst`` is the list: a row has a name, a sentence, what is promised,
what was measured and in how many runs. A simulation here has the same name, takes a generator and
returns whether the promise held in one run (or, for a bias, by how much it was missed). The tests
compare the two lists and repeat every simulation at a twentieth of its runs; all runs, and the page
with new figures, are made by

    GRAMSMITH_RUNS=1 GRAMSMITH_FIGURES=figures.json pytest tests/promises -m slow
    cd tests && python -m promises figures.json

The folder is not called *statistics*: it would hide the module of the standard library.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "promises.rst"

# Of a hundred promises that hold, all are within 3.5 Monte Carlo errors in 95 of 100 sets of runs.
ERRORS = 3.5
CELL = re.compile(r"^   (?:\*| ) - ?(.*)$")


@dataclass(frozen=True)
class Row:
    """One line of the page."""

    name: str
    statement: str
    promised: str
    measured: str
    runs: str

    @property
    def allowance(self) -> float:
        """How far from zero a promised average may be."""
        return float(self.promised.removeprefix("within "))

    def limits(self) -> tuple[float, float] | None:
        """Return the range of the promised share, None for an average that is about zero."""
        if self.promised == "0" or self.promised.startswith("within "):
            return None
        if self.promised == "always":
            return 1.0, 1.0
        numbers = [float(number) / 100.0 for number in re.findall(r"[\d.]+", self.promised)]
        if self.promised.startswith("at most"):
            return 0.0, numbers[0]
        if self.promised.startswith("at least"):
            return numbers[0], 1.0
        return numbers[0], numbers[-1]


@dataclass(frozen=True)
class Simulation:
    """How one promise is tried: ``run(rng)`` gives whether it held, or by how much it did not."""

    name: str
    run: Callable[[np.random.Generator], bool | float]
    runs: int


SIMULATIONS: dict[str, Simulation] = {}


def promise(name, runs=400, **cases):
    """Register a simulation; with cases, a row for each, called "name, case"."""

    def register(function):
        for case, arguments in (cases or {"": {}}).items():
            label = f"{name}, {case.replace('_', ' ')}" if case else name

            def run(rng, arguments=arguments):
                return function(rng, **arguments)

            if label in SIMULATIONS:
                raise ValueError(f"Two simulations are called {label!r}.")
            SIMULATIONS[label] = Simulation(label, run, runs)
        return function

    return register


def read_page(text=None):
    """Return the rows of the page by name."""
    lines = (PAGE.read_text() if text is None else text).splitlines()
    rows, cells = {}, []
    for line in [*lines, ""]:
        cell = CELL.match(line)
        if line.startswith("   * - ") or not cell:
            if len(cells) == 5 and cells[0] != "name":
                rows[cells[0]] = Row(*cells)
            cells = []
        if cell:
            cells.append(cell.group(1).strip())
    return rows


def draw(simulation, share):
    """Return the results of the runs, each from a generator of its own."""
    runs = max(20, round(simulation.runs * share))
    key = zlib.crc32(simulation.name.encode())
    numbers = np.linspace(0, simulation.runs, runs, endpoint=False).astype(int)
    return np.array([simulation.run(np.random.default_rng([key, i])) for i in numbers], float)


def verdict(row, results):
    """Return the figure for the page and whether it is what was promised."""
    limits, runs = row.limits(), len(results)
    if limits is None:
        error = results.std(ddof=1) / sqrt(runs)
        held = abs(results.mean()) <= row.allowance + ERRORS * error
        return f"{results.mean():+.4f} ± {error:.4f}", held
    low, high = limits
    share = results.mean()
    # the error of a share that is exactly what was promised
    below, above = (ERRORS * sqrt(limit * (1.0 - limit) / runs) for limit in limits)
    return f"{100 * share:.1f} %", low - below - 1e-12 <= share <= high + above + 1e-12


def share_of_runs():
    """Return which part of the runs is done: GRAMSMITH_RUNS, a twentieth without it."""
    return float(os.environ.get("GRAMSMITH_RUNS", "0.05"))


def record(name, figure, runs):
    """Add a figure to the file that GRAMSMITH_FIGURES names."""
    path = os.environ.get("GRAMSMITH_FIGURES")
    if path:
        with open(path, "a") as file:
            file.write(json.dumps([name, figure, runs]) + "\n")


def write_page(figures):
    """Put figures (name -> measured, runs) into the page."""
    lines, name, cell = PAGE.read_text().splitlines(), "", 0
    for i, line in enumerate(lines):
        if line.startswith("   * - "):
            name, cell = line[7:].strip(), 0
        elif line.startswith("     -") and name:
            cell += 1
            if name in figures and cell in (3, 4):
                lines[i] = f"     - {figures[name][cell - 3]}"
    PAGE.write_text("\n".join(lines) + "\n")

"""Draw the arena: Elo of every method on all sets, with intervals, from the tables of the docs.

``python -m benchmarks.arena_picture`` reads ``docs/arena_*-kinds.csv``, which
``python -m benchmarks.arena --csv`` writes, and makes ``docs/_static/arena.png``.
"""

from __future__ import annotations

import csv
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
# Colours that differ for every kind of colour vision; ours is the dark one.
OURS, OTHERS = "#1b4f72", "#b9770e"
NAMES = {"selector": "gramsmith", "catboost": "CatBoost", "xrfm": "xRFM"}


def read(rows: int) -> list[dict[str, str]]:
    """Return the lines of all sets together, the best method first."""
    with (DOCS / f"arena_{rows}-kinds.csv").open() as file:
        return [line for line in csv.DictReader(file) if line["kind (sets)"].startswith("all ")]


def main() -> None:
    """Draw both sizes beside each other."""
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 2.9), sharex=True, layout="constrained")
    for ax, rows in zip(axes, (400, 1000), strict=True):
        lines = read(rows)
        for height, line in enumerate(reversed(lines)):
            low, high = (float(number) for number in line["95 %"].split(" to "))
            elo, colour = float(line["Elo"]), OURS if line["method"] == "selector" else OTHERS
            ax.plot([low, high], [height, height], color=colour, linewidth=2.0)
            ax.plot(elo, height, "o", color=colour)
        names = [NAMES.get(line["method"], line["method"]) for line in reversed(lines)]
        errors = [f"{float(line['error']):.1f} %" for line in reversed(lines)]
        labels = [f"{name}   {error}" for name, error in zip(names, errors, strict=True)]
        ax.set_yticks(range(len(lines)), labels)
        count = lines[0]["kind (sets)"].removeprefix("all (").removesuffix(")")
        ax.set_title(f"{count} data sets, at most {rows} rows", loc="left", fontsize="medium")
        ax.set_xlabel("Elo; right is better")
        ax.grid(axis="x", alpha=0.3)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
    figure.savefig(DOCS / "_static" / "arena.png", dpi=150)


if __name__ == "__main__":
    main()

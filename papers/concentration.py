"""Concentration: how far the alignment of a sample lies from its mean, by simulation.

Four of the papers say that the empirical alignment is concentrated, and none shows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from papers.experiment import Findings, Run
from papers.figure import Curve, Figure, Panel
from papers.record import check, compare

SIZES = (50, 100, 200, 400)
DELTA = 0.05


def concentration(
    table: str,
    name: str,
    what: str,
    sample: Callable[[int, np.random.Generator], float],
    run: Run,
) -> Findings:
    """Draw samples of several sizes and compare the spread of their alignments with the bound.

    Parameters
    ----------
    table : str
        Where the paper says so.
    name : str
        Of the figure.
    what : str
        Which alignment.
    sample : callable
        (n, generator) -> the alignment of a fresh sample of n rows.
    run : Run

    Returns
    -------
    Findings
        That the spread falls like n^-1/2, that no more than a share δ of the samples is farther
        from the mean than ε = √(8 ln(2/δ)/n), and the spread at every size.
    """
    repeats = run.choose(200, 60)
    values = np.array([[sample(n, run.rng(1000 * n + k)) for k in range(repeats)] for n in SIZES])
    spread = values.std(axis=1, ddof=1)
    slope = float(np.polyfit(np.log(SIZES), np.log(spread), 1)[0])
    bound = np.sqrt(8.0 * np.log(2.0 / DELTA) / np.array(SIZES))
    beyond = np.mean(np.abs(values - values.mean(axis=1, keepdims=True)) >= bound[:, None])
    records = [
        check(
            table,
            f"concentration of {what}: the deviation falls like n^-1/2",
            abs(slope + 0.5),
            tolerance=0.15,
            note=f"exponent {slope:.2f} over n = {SIZES[0]} to {SIZES[-1]}, {repeats} samples each",
        ),
        check(
            table,
            f"concentration of {what}: P(|Â − E Â| ≥ √(8 ln(2/δ)/n)) ≤ δ = .05, excess",
            max(float(beyond) - DELTA, 0.0),
            note=f"{beyond:.3f} of the samples; the bound is {bound[-1] / spread[-1]:.0f} "
            f"deviations wide at n = {SIZES[-1]}",
        ),
    ]
    for n, s in zip(SIZES, spread, strict=True):
        cell = f"concentration of {what}: deviation at n = {n}"
        records.append(compare(table, cell, None, float(s), digits=4))
    curves = [
        Curve("deviation of the alignment", SIZES, spread),
        Curve("bound, δ = .05", SIZES, bound),
    ]
    panel = Panel(what, "sample size", "", curves, logx=True, logy=True)
    caption = "Both fall like n^-1/2; the bound is far from tight."
    return Findings(
        records, [Figure(name, "Concentration of the alignment", caption, [panel], columns=1)]
    )

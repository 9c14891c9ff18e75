"""Pothin & Richard: kernel-target alignment maximised over a linear transform of the inputs.

Table 2 by the recipe that fits the printed numbers (fixed steps from S = I/2, stopped by the
paper's rule), beside the converged optimum, the diagonal transform and the radius-margin bound;
table 3 and figures 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.kernels import Gaussian
from gramsmith.learning import TransformLearner
from papers.experiment import Experiment, Findings, Paper, Run
from papers.figure import Curve, Figure, Panel
from papers.pothin_richard_steps import (
    Ascent,
    Machine,
    Split,
    evaluate_kernel,
    fixed_steps,
    mapped,
)
from papers.pothin_richard_theory import formulas, generated
from papers.record import Record, compare, timed

Array = npt.NDArray[Any]
NAME = "pothin-richard"
TOLERANCE = {"alignment": 1e-3, "support vectors": 10.0, "error": 0.5}
DIGITS = {"alignment": 4, "support vectors": 0, "error": 2}

# Table 2: alignment, support vectors, test error in percent.
TABLE_2 = {
    "ringnorm": {
        "without": (0.0629, 398, 18.20),
        "with": (0.3704, 130, 5.89),
        "radius-margin": (0.3247, 141, 4.87),
    },
    "thyroid": {
        "without": (0.4757, 31, 2.27),
        "with": (0.5805, 19, 2.00),
        "radius-margin": (0.5464, 37, 2.27),
    },
    "titanic": {
        "without": (0.1918, 147, 25.89),
        "with": (0.3434, 147, 25.89),
        "radius-margin": (0.2293, 147, 25.89),
    },
    "waveform": {
        "without": (0.0519, 400, 32.80),
        "with": (0.3937, 95, 15.52),
        "radius-margin": (0.2460, 237, 15.22),
    },
}
# Table 3: seconds per iteration, radius-margin and alignment.
TABLE_3 = {
    "ringnorm": (28.0, 3.0),
    "thyroid": (0.35, 0.05),
    "titanic": (0.25, 0.19),
    "waveform": (26.0, 3.0),
}
# The step of (18) and the iteration at which the radius-margin descent stops: both fitted.
ETA = {"ringnorm": 1.4e-4, "titanic": 4e-5, "waveform": 4e-5, "thyroid": 4e-5}
MARGIN_ITERATIONS = {"ringnorm": 105, "waveform": 199, "thyroid": 105}


def row(
    table: str,
    printed: tuple[float, float, float] | None,
    machine: Machine,
    why: str = "",
    note: str = "",
) -> list[Record]:
    """Compare one row of table 2, and add the held-out alignment beside it."""
    ours = (machine.alignment, machine.support, machine.error)
    records = []
    for k, name in enumerate(("alignment", "support vectors", "error")):
        records.append(
            compare(
                "Table 2",
                f"{table}, {name}",
                None if printed is None else printed[k],
                ours[k],
                tolerance=TOLERANCE[name],
                digits=DIGITS[name],
                note=f"{machine.strict} with alpha > 0" if k == 1 else note,
                why=why,
            )
        )
    cell = f"{table}, held-out alignment"
    records.append(compare("Table 2", cell, None, machine.held_out, digits=4))
    return records


def learned(split: Split, structure: str, **options: Any) -> Machine:
    """Learn a transform with the library and evaluate it."""
    learner = TransformLearner(
        structure=structure, random_state=0, **{"early_stopping": False, "l1": 0.0, **options}
    )
    return evaluate_kernel(learner.fit(split.X, split.y).kernel_, split)


def big_set(name: str) -> Callable[[Run], Findings]:
    """Return the experiment of table 2 on ringnorm or waveform."""

    def experiment(run: Run) -> Findings:
        split = Split(*run.load(name).split(0))
        printed, p = TABLE_2[name], split.X.shape[1]
        found = Findings(
            row(f"{name}, without", printed["without"], evaluate_kernel(Gaussian(1.0), split))
        )
        ascent = fixed_steps("kta", split, 0.5 * np.eye(p), ETA[name], 4000, 1e-6)
        note = f"from S = I/2, eta {ETA[name]:g}, stopped after {len(ascent.maps)} iterations"
        found.records += row(
            f"{name}, with",
            printed["with"],
            evaluate_kernel(mapped(ascent.maps[-1]), split),
            note=note,
        )
        start = np.eye(p) / np.sqrt(2.0)
        descent = fixed_steps("radius_margin", split, start, 0.02, MARGIN_ITERATIONS[name])
        note = f"log bound, step .02 from I/√2, iteration {MARGIN_ITERATIONS[name]}"
        machine = evaluate_kernel(mapped(descent.maps[-1]), split)
        found.records += row(f"{name}, radius-margin", printed["radius-margin"], machine, note=note)
        for label, structure, options in (
            ("full S, converged", "full", {"measure": "kta"}),
            ("diagonal S", "diagonal", {"measure": "kta"}),
            ("diagonal S by centred alignment", "diagonal", {}),
        ):
            found.records += row(f"{name}, {label}", None, learned(split, structure, **options))
        found.records += _times(name, descent.seconds, ascent.seconds)
        if name == "ringnorm":
            found.figures += [_figure_1(split, run), _figure_2(split, ascent, run)]
        return found

    return experiment


def _times(name: str, margin: float, alignment: float) -> list[Record]:
    theirs = TABLE_3[name]
    return [
        timed("Table 3", f"{name}, radius-margin, seconds per iteration", theirs[0], margin),
        timed("Table 3", f"{name}, alignment, seconds per iteration", theirs[1], alignment),
        timed("Table 3", f"{name}, ratio", theirs[0] / theirs[1], margin / alignment, digits=1),
    ]


def thyroid(run: Run) -> Findings:
    """Run table 2 on thyroid: the split is lost, so means over splits of the printed size."""
    data = run.load("thyroid")
    count = run.choose(20, 5)
    found = Findings()
    for size in (75, 140):
        rows: dict[str, list[Machine]] = {"without": [], "with": [], "radius-margin": []}
        seconds = []
        for realisation in range(count):
            X, y, X_test, y_test = data.split(realisation)
            split = Split(X[:size], y[:size], X_test, y_test)
            rows["without"].append(evaluate_kernel(Gaussian(1.0), split))
            rows["with"].append(learned(split, "full", measure="kta"))
            start = np.eye(5) / np.sqrt(2.0)
            descent = fixed_steps("radius_margin", split, start, 0.02, MARGIN_ITERATIONS["thyroid"])
            rows["radius-margin"].append(evaluate_kernel(mapped(descent.maps[-1]), split))
            ascent = fixed_steps("kta", split, 0.5 * np.eye(5), ETA["thyroid"], 20)
            seconds.append((descent.seconds, ascent.seconds))
        for name, machines in rows.items():
            found.records += _mean_row(
                f"thyroid, {size} rows, {name}", TABLE_2["thyroid"][name], machines
            )
        if size == 75:
            found.records += _times("thyroid", *np.mean(seconds, axis=0))
    return found


def _mean_row(
    table: str, printed: tuple[float, float, float], machines: list[Machine]
) -> list[Record]:
    columns = {
        "alignment": [m.alignment for m in machines],
        "support vectors": [float(m.support) for m in machines],
        "error": [m.error for m in machines],
    }
    records = []
    for (name, values), value in zip(columns.items(), printed, strict=True):
        sd = float(np.std(values, ddof=1))
        note = (
            f"mean of {len(values)} random splits, deviation {sd:.3g}; the published split is lost"
        )
        why = "More than two deviations of a split away."
        records.append(
            compare(
                "Table 2",
                f"{table}, {name}",
                value,
                float(np.mean(values)),
                tolerance=2.0 * sd,
                digits=DIGITS[name],
                note=note,
                why=why,
            )
        )
    return records


def titanic(run: Run) -> Findings:
    """Run table 2 on titanic: 24 distinct rows, so that everything hangs on a few cells."""
    split = Split(*run.load("titanic").split(0))
    printed = TABLE_2["titanic"]
    without = evaluate_kernel(Gaussian(10.0), split)
    cell, other = other_side_of_tie(split, without)
    why = f"{cell} on the other side of zero, see below."
    found = Findings(row("titanic, without", printed["without"], without, why, "sigma = 10"))
    found.records.append(
        compare(
            "Table 2",
            "titanic, error with that cell on the other side",
            25.89,
            other,
            digits=2,
            note=why,
        )
    )
    ascent = fixed_steps("kta", split, 0.5 * np.eye(3), ETA["titanic"], 4000, 1e-6)
    note = f"from S = I/2, eta {ETA['titanic']:g}, stopped after {len(ascent.maps)} iterations"
    machine = evaluate_kernel(mapped(ascent.maps[-1]), split)
    found.records += row("titanic, with", printed["with"], machine, why, note)
    # The bound falls for ever: its limit is the kernel that tells distinct rows apart.
    limit = evaluate_kernel(mapped(1e3 * np.eye(3)), split)
    found.records += row(
        "titanic, radius-margin", printed["radius-margin"], limit, why, "as S grows"
    )
    for label, structure in (("full S, converged", "full"), ("diagonal S", "diagonal")):
        found.records += row(f"titanic, {label}", None, learned(split, structure, measure="kta"))
    descent = fixed_steps("radius_margin", split, np.eye(3) / np.sqrt(2.0), 0.02, 20)
    found.records += _times("titanic", descent.seconds, ascent.seconds)
    return found


def other_side_of_tie(split: Split, machine: Machine) -> tuple[str, float]:
    """Return the largest tied cell of the training rows, and the error with its sign turned.

    A cell is a distinct row of inputs; it is tied when its training labels are balanced, and then
    its side is decided by rounding and by the solver.
    """
    rows, index = np.unique(np.vstack([split.X, split.X_test]), axis=0, return_inverse=True)
    train, test = index[: len(split.y)], index[len(split.y) :]
    tied = [
        cell
        for cell in range(len(rows))
        if np.any(train == cell) and split.y[train == cell].sum() == 0
    ]
    largest = max(tied, key=lambda cell: np.sum(train == cell))
    f = np.where(test == largest, -machine.decision, machine.decision)
    half = int(np.sum(train == largest) // 2)
    moved = int(abs(split.y_test[test == largest].sum()))
    error = float(100.0 * np.mean(np.sign(f) != split.y_test))
    return f"a cell with {half} training rows of each class ({moved} test rows net)", error


def _figure_1(split: Split, run: Run) -> Figure:
    p = split.X.shape[1]
    curves = []
    for sigma in (1.0, 1.5, 2.0, 3.0, 5.0):
        start = np.eye(p) / (2.0 * sigma**2)
        ascent = fixed_steps("kta", split, start, ETA["ringnorm"], run.choose(700, 250))
        curves.append(Curve(f"sigma = {sigma:g}", np.arange(len(ascent.values)), ascent.values))
    panel = Panel("S from I/(2σ²), the printed start", "iteration", "alignment", curves)
    caption = "All these starts climb towards the same alignment; only the time differs."
    return Figure(
        "pothin-richard-figure-1",
        "Figure 1: alignment by sigma, ringnorm",
        caption,
        [panel],
        columns=1,
    )


def _figure_2(split: Split, ascent: Ascent, run: Run) -> Figure:
    # Closer together at the start, where everything happens.
    share = np.linspace(0.0, 1.0, run.choose(31, 16)) ** 2
    steps = np.unique((share * (len(ascent.maps) - 1)).astype(int))
    machines = [evaluate_kernel(mapped(ascent.maps[i]), split) for i in steps]
    panels = [
        Panel(
            "alignment",
            "iteration",
            "alignment",
            [
                Curve("training rows", np.arange(len(ascent.values)), ascent.values),
                Curve("held-out rows", steps, [m.held_out for m in machines]),
            ],
        ),
        Panel(
            "test error",
            "iteration",
            "error (%)",
            [Curve("L2-SVM, C = 100", steps, [m.error for m in machines])],
        ),
    ]
    caption = (
        "The error is lowest where the held-out alignment peaks, after some forty steps, and then "
        "more than doubles while the training alignment creeps to its optimum: the paper stops "
        "early, but not early enough."
    )
    return Figure(
        "pothin-richard-figure-2",
        "Figure 2: alignment and error by iteration, ringnorm",
        caption,
        panels,
    )


PAPER = Paper(
    NAME,
    "Optimal feature representation for kernel machines using kernel-target alignment criterion",
    "J.-B. Pothin, C. Richard",
    "2007",
    "On the first realisation of the benchmark collection the numbers without a "
    "transform are equal to "
    "the last digit, those with one within .001 by a fixed-step ascent from S = I/2. "
    "The ascent stops "
    "early, and that is why it does well: at the optimum the full transform "
    "overfits, and a diagonal one "
    "errs less than half as often on ringnorm.",
    (
        Experiment(
            NAME, "table-2-ringnorm", "Table 2, ringnorm", big_set("ringnorm"), ("ringnorm",)
        ),
        Experiment(NAME, "table-2-thyroid", "Table 2, thyroid", thyroid, ("thyroid",)),
        Experiment(NAME, "table-2-titanic", "Table 2, titanic", titanic, ("titanic",)),
        Experiment(
            NAME, "table-2-waveform", "Table 2, waveform", big_set("waveform"), ("waveform",)
        ),
        Experiment(NAME, "formulas", "Gradients and their corrections", formulas),
        Experiment(NAME, "generated", "Table 2 on generated data", generated),
    ),
)

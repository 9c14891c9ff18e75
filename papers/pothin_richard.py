"""Pothin & Richard: kernel-target alignment maximised over a linear transform of the inputs.

Tables 1 to 3 and figures 1 and 2. Table 2 by fixed steps from S = I/2, stopped by the paper's rule,
beside the converged optimum, the diagonal transform and the radius-margin bound. What the paper
does not print (the step, the iteration at which the bound's descent ends, sigma on the Titanic, the
cut of the support vectors) was fitted, and what agrees by it is recorded as fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import gramsmith as gs
from papers.concentration import concentration
from papers.experiment import Experiment, Findings, Paper, Run, decision_values
from papers.figure import Curve, Figure, Panel
from papers.generators import two_blobs
from papers.pothin_richard_steps import (
    CUT,
    Ascent,
    C,
    Machine,
    RadiusMargin,
    Split,
    evaluate_kernel,
    fixed_steps,
    mapped,
)
from papers.pothin_richard_theory import formulas, generated
from papers.record import Record, check, compare, timed, two_errors

Array = npt.NDArray[Any]
NAME = "pothin-richard"
# On the same rows nothing is random; half a percentage point is less than two standard errors of
# the difference of two error rates on thousands of rows.
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
# Table 1: variables, training and test rows.
TABLE_1 = {
    "ringnorm": (20, 400, 7000),
    "thyroid": (5, 75, 1500),
    "titanic": (3, 150, 2051),
    "waveform": (21, 400, 4600),
}
# The step of (18) and the iteration at which the radius-margin descent stops: both fitted.
ETA = {"ringnorm": 1.4e-4, "titanic": 4e-5, "waveform": 4e-5, "thyroid": 4e-5}
MARGIN_ITERATIONS = {"ringnorm": 105, "waveform": 199, "thyroid": 105, "titanic": 120}


def row(
    table: str,
    printed: tuple[float, float, float] | None,
    machine: Machine,
    *,
    note: str = "",
    why: str = "",
    fitted: str = "",
) -> list[Record]:
    """Compare one row of table 2, and add the held-out alignment beside it."""
    ours = {
        "alignment": machine.alignment,
        "support vectors": machine.support(),
        "error": machine.error,
    }
    records = []
    for k, (name, value) in enumerate(ours.items()):
        cut = ""
        if name == "support vectors" and machine.support() != machine.support(0.0):
            counts = "/".join(str(machine.support(c)) for c in (0.01, CUT, 0.016, 0.0))
            cut = f"{counts} vectors with alpha above .01/{CUT}/.016/0 of the largest"
        records.append(
            compare(
                "Table 2",
                f"{table}, {name}",
                None if printed is None else printed[k],
                value,
                tolerance=TOLERANCE[name],
                digits=DIGITS[name],
                note=note if printed is not None or not cut else cut,
                why=why if name == "error" else "",
                fitted=". ".join(part for part in (fitted, cut) if part),
            )
        )
    cell = f"{table}, held-out alignment"
    records.append(compare("Table 2", cell, None, machine.held_out, digits=4))
    return records


def learned(split: Split, structure: str, **options: Any) -> Machine:
    """Learn a transform with the library and evaluate it."""
    learner = gs.TransformLearner(
        structure=structure,
        random_state=0,
        **{"measure": "cka", "keep": 1.0, "early_stopping": False, "l1": 0.0, **options},
    )
    return evaluate_kernel(learner.fit(split.X, split.y).kernel_, split)


def ascent_row(run: Run, name: str, split: Split) -> tuple[list[Record], Ascent]:
    """Return the row "with" by the printed rule, and how much its step matters."""
    start, eta = 0.5 * np.eye(split.X.shape[1]), ETA[name]
    ascent = fixed_steps("kta", split, start, eta, 4000, 1e-6)
    others = []
    for factor in (0.5, 2.0) if not run.quick else ():
        other = fixed_steps("kta", split, start, factor * eta, 8000, 1e-6)
        machine = evaluate_kernel(mapped(other.maps[-1]), split)
        others.append(f"{machine.alignment:.4f} and {machine.error:.2f} % at eta {factor * eta:g}")
    fitted = f"eta {eta:g} was fitted" + (f" ({', '.join(others)})" if others else "")
    note = f"from S = I/2, stopped after {len(ascent.maps)} iterations"
    machine = evaluate_kernel(mapped(ascent.maps[-1]), split)
    printed = TABLE_2[name]["with"]
    records = row(
        f"{name}, with", printed, machine, note=note, fitted=fitted, why=WHY_TITANIC.get(name, "")
    )
    return records, ascent


def margin_row(name: str, split: Split) -> tuple[list[Record], Ascent]:
    """Return the row of the radius-margin bound, and how much the iteration matters."""
    start, end = np.eye(split.X.shape[1]) / np.sqrt(2.0), MARGIN_ITERATIONS[name]
    descent = fixed_steps("radius_margin", split, start, 0.02, 200)
    machine = evaluate_kernel(mapped(descent.maps[end]), split)
    last = evaluate_kernel(mapped(descent.maps[200]), split)
    fitted = (
        f"iteration {end} was fitted; at 200 the alignment is {last.alignment:.3f}, the error "
        f"{last.error:.2f} %"
    )
    records = row(
        f"{name}, radius-margin",
        TABLE_2[name]["radius-margin"],
        machine,
        note="log bound, step .02 from I/√2",
        fitted=fitted,
        why=WHY_TITANIC.get(name, ""),
    )
    return records, descent


def big_set(name: str) -> Callable[[Run], Findings]:
    """Return the experiment of table 2 on ringnorm or waveform."""

    def experiment(run: Run) -> Findings:
        split = Split(*run.load(name).split(0))
        plain = evaluate_kernel(gs.Gaussian(1.0), split)
        found = Findings(row(f"{name}, without", TABLE_2[name]["without"], plain))
        records, ascent = ascent_row(run, name, split)
        found.records += records
        records, descent = margin_row(name, split)
        found.records += records
        for label, structure, options in (
            ("full S, converged", "full", {"measure": "kta"}),
            ("diagonal S", "diagonal", {"measure": "kta"}),
            ("diagonal S by centred alignment", "diagonal", {}),
        ):
            found.records += row(f"{name}, {label}", None, learned(split, structure, **options))
        found.records += _times(name, descent.seconds, ascent.seconds)
        if name == "ringnorm":
            records, figure = _figure_1(split, run)
            found.records += records
            found.figures += [figure, _figure_2(split, ascent, run)]
        return found

    return experiment


def _times(name: str, margin: float, alignment: float) -> list[Record]:
    theirs = TABLE_3[name]
    note = f"{theirs[0] / theirs[1]:.1f} from the printed seconds"
    return [
        timed("Table 3", f"{name}, radius-margin, seconds per iteration", theirs[0], margin),
        timed("Table 3", f"{name}, alignment, seconds per iteration", theirs[1], alignment),
        timed("Table 3", f"{name}, ratio", None, margin / alignment, digits=1, note=note),
    ]


def sizes(run: Run) -> Findings:
    """Compare table 1 with the first realisation of the collection."""
    found = Findings()
    for name, printed in TABLE_1.items():
        X, _, X_test, _ = run.load(name).split(0)
        why = ""
        if name == "thyroid":
            why = (
                "The set has 215 rows, 140 and 75 in the collection; the printed errors are 34 and "
                "30 of 1500 = 20 x 75, so the test rows of twenty splits seem to be counted"
            )
        ours = (X.shape[1], len(X), len(X_test))
        for label, theirs, value in zip(
            ("variables", "training rows", "test rows"), printed, ours, strict=True
        ):
            found.records.append(
                compare("Table 1", f"{name}, {label}", theirs, value, digits=0, why=why)
            )
    return found


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
            rows["without"].append(evaluate_kernel(gs.Gaussian(1.0), split))
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
    """Compare means over splits; the printed numbers are taken for means of twenty, see table 1."""
    columns = {
        "alignment": [m.alignment for m in machines],
        "support vectors": [float(m.support()) for m in machines],
        "error": [m.error for m in machines],
    }
    records = []
    for (name, values), value in zip(columns.items(), printed, strict=True):
        sd = float(np.std(values, ddof=1))
        note = (
            f"mean of {len(values)} random splits, deviation {sd:.3g}; the published split is lost"
        )
        why = "More than two standard errors of the difference away"
        records.append(
            compare(
                "Table 2",
                f"{table}, {name}",
                value,
                float(np.mean(values)),
                tolerance=two_errors(values, sd, 20),
                digits=DIGITS[name],
                note=note,
                why=why,
            )
        )
    return records


WHY_TITANIC = {
    "titanic": "The printed error needs the 163 men of the first class among the test rows on the "
    "other side, 61 net; they have 6 training rows of each label, and every machine here puts "
    "them among the dead"
}


def titanic(run: Run) -> Findings:
    """Run table 2 on titanic: 24 distinct rows, so that everything hangs on a few cells."""
    split = Split(*run.load("titanic").split(0))
    near = {s: evaluate_kernel(gs.Gaussian(s), split) for s in (1.0, 9.0, 10.0, 11.0)}
    shown = ", ".join(f"{near[s].alignment:.4f} at {s:g}" for s in (1.0, 9.0, 11.0))
    fitted = f"sigma = 10 was fitted where the text says 1 ({shown})"
    found = Findings(
        row(
            "titanic, without",
            TABLE_2["titanic"]["without"],
            near[10.0],
            fitted=fitted,
            why=WHY_TITANIC["titanic"],
        )
    )
    found.records += row("titanic, without, sigma = 1 as in the text", None, near[1.0])
    found.records += _tied_cell(split)
    records, ascent = ascent_row(run, "titanic", split)
    found.records += records
    records, descent = margin_row("titanic", split)
    found.records += records
    for label, scale in (("I/100", 0.01), ("I/√2", np.sqrt(0.5)), ("1000 I", 1e3)):
        bound = RadiusMargin(split)(scale * np.eye(3))[0]
        note = "the bound rises with S, so its descent shrinks S"
        cell = f"titanic, log radius-margin bound at S = {label}"
        found.records.append(compare("Table 2", cell, None, bound, note=note))
    for label, structure in (("full S, converged", "full"), ("diagonal S", "diagonal")):
        found.records += row(f"titanic, {label}", None, learned(split, structure, measure="kta"))
    found.records += _times("titanic", descent.seconds, ascent.seconds)
    return found


def _tied_cell(split: Split) -> list[Record]:
    """Show the decision value on the largest cell whose training labels are balanced.

    A cell is a distinct row of inputs. The published error is what one would have with this cell on
    the other side of zero; no machine of ours puts it there.
    """
    cells, index, counts = np.unique(split.X_test, axis=0, return_inverse=True, return_counts=True)
    train = [split.y[(split.X == cell).all(axis=1)] for cell in cells]
    tied = [k for k, labels in enumerate(train) if len(labels) and labels.sum() == 0]
    k = max(tied, key=lambda k: counts[k])
    machine = gs.L2SVC(gs.Gaussian(10.0), C=C, radius=False).fit(split.X, split.y)
    f = float(decision_values(machine, cells[k : k + 1])[0])
    net = -int(split.y_test[index == k].sum())
    note = (
        f"{len(train[k]) // 2} training rows of each class, {counts[k]} test rows; on the other "
        f"side {net} rows more would be wrong, which makes the printed 25.89 %"
    )
    return [compare("Table 2", "titanic, decision value on the tied cell", None, f, note=note)]


def concentrated(run: Run) -> Findings:
    """Show section 2's concentration: the alignment of small samples, again and again."""

    def sample(n: int, rng: np.random.Generator) -> float:
        X, y = two_blobs(90.0, 0.5, n // 2, rng)
        return gs.kta(gs.Gram(gs.Gaussian(1.0), X), y)

    return concentration(
        "Section 2", "pothin-richard-concentration", "the alignment (3)", sample, run
    )


def _figure_1(split: Split, run: Run) -> tuple[list[Record], Figure]:
    """Climb from the printed start and from the right one, and look at sigma >= 3."""
    p, steps = split.X.shape[1], run.choose(700, 250)
    panels = []
    found: dict[tuple[str, float], Array] = {}
    for title, power in (
        ("S from I/(2σ²), the printed start", 2.0),
        ("S from I/(√2 σ), the right one", 1.0),
    ):
        curves = []
        for sigma in (1.0, 1.5, 2.0, 3.0, 5.0):
            start = (np.sqrt(2.0) * sigma) ** -power * np.eye(p)
            values = fixed_steps("kta", split, start, ETA["ringnorm"], steps).values
            found[title, sigma] = values
            curves.append(Curve(f"sigma = {sigma:g}", np.arange(len(values)), values))
        panels.append(Panel(title, "iteration", "alignment", curves))
    printed, right = (
        abs(float(found[panel.title, 3.0][100] - found[panel.title, 5.0][100])) for panel in panels
    )
    first = [found[panels[0].title, sigma] for sigma in (3.0, 5.0)]
    above = [int(np.argmax(values > 0.33)) for values in first]
    note = (
        f"the printed start reaches .33 after {above[0]} steps with sigma = 3 and {above[1]} with "
        "5, and the gap grows with sigma; from S = I/(√2 σ) they climb together"
    )
    record = check(
        "Figure 1",
        '"roughly the same for σ ≥ 3": alignment at step 100, sigma 3 against 5',
        right,
        tolerance=0.005,
        printed=printed,
        note=note,
    )
    caption = (
        "All starts climb towards the same alignment. From the printed start sigma = 5 takes "
        "nearly twice as long as 3, against the text; from the right one sigma hardly matters "
        "between 1.5 and 5."
    )
    return [record], Figure(
        "pothin-richard-figure-1", "Figure 1: alignment by sigma, ringnorm", caption, panels
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
    "On the first realisation of the benchmark collection the alignments without a transform are "
    "equal to the last digit on ringnorm and waveform, those with one within .001 by a fixed-step "
    "ascent whose step was fitted. The errors on the Titanic are not those printed. The ascent "
    "stops early, and that is why it does well: at the optimum the full transform overfits, and a "
    "diagonal one errs less than half as often on ringnorm.",
    (
        Experiment(NAME, "table-1", "Table 1, sizes", sizes, tuple(TABLE_1)),
        Experiment(
            NAME, "table-2-ringnorm", "Table 2, ringnorm", big_set("ringnorm"), ("ringnorm",)
        ),
        Experiment(NAME, "table-2-thyroid", "Table 2, thyroid", thyroid, ("thyroid",)),
        Experiment(NAME, "table-2-titanic", "Table 2, titanic", titanic, ("titanic",)),
        Experiment(
            NAME, "table-2-waveform", "Table 2, waveform", big_set("waveform"), ("waveform",)
        ),
        Experiment(NAME, "formulas", "Gradients and their corrections", formulas),
        Experiment(NAME, "concentration", "Section 2, concentration", concentrated),
        Experiment(NAME, "generated", "Table 2 on generated data", generated),
    ),
)

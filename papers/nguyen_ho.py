"""Nguyen & Ho (2008): An efficient kernel matrix evaluation measure.

Figure 3 (two clouds on a circle), figure 4 and table 1 (four kernels on nine data sets), the
theorems, and FSM beside the two criteria it is compared with in words.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_ind, ttest_rel
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC, NuSVC

from gramsmith.evaluation import evaluate
from gramsmith.kernels import Gaussian, Kernel, Linear, Polynomial, Sigmoid
from papers.data import DataError, DataSet
from papers.experiment import Experiment, Findings, Paper, Run
from papers.figure import Curve, Figure, Panel
from papers.generators import two_blobs
from papers.nguyen_ho_theory import criteria, formulas
from papers.record import Record, absent, check, compare

Array = npt.NDArray[Any]
NAME = "nguyen-ho"

# Table 1: rank of the kernel of smallest error by 1 - KTA, CSMnorm and FSMerr.
PUBLISHED = {
    "australian": (1, 4, 4),
    "breast-cancer": (3, 3, 2),
    "diabetes": (4, 3, 1),
    "fourclass": (4, 3, 1),
    "german.numer": (3, 3, 2),
    "heart": (4, 3, 1),
    "ionosphere": (4, 1, 1),
    "mushrooms": (1, 4, 1),
    "vehicle": (3, 4, 2),
}
AVERAGES = ((3.00, 1.22), (3.11, 0.93), (1.67, 1.00))
MEASURES = ("kta", "csm", "fsm")
OURS = ("fsm_loo", "cka", "cka_debiased")
SVC_NAMES = {"linear": "linear", "polynomial": "poly", "Gaussian": "rbf", "tanh": "sigmoid"}
# Figure 3: 1 - KTA at 30 and at 180 degrees.
FIGURE_3 = {30: 0.936, 180: 0.395}


def kernels(p: int) -> dict[str, Kernel]:
    """Return the four kernels with LIBSVM's defaults for p features: gamma = 1/p, coef0 = 0."""
    return {
        "linear": Linear(),
        "polynomial": Polynomial(degree=3, gamma=1.0 / p, coef0=0.0),
        "Gaussian": Gaussian.from_gamma(1.0 / p),
        "tanh": Sigmoid(gamma=1.0 / p, coef0=0.0),
    }


def rank_kernels_by(values: Array, higher_is_better: bool) -> Array:
    """Return the rank of every kernel, 1 for the best."""
    order = np.argsort(-values if higher_is_better else values, kind="stable")
    ranks = np.empty(len(values), dtype=int)
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def measure_set(data: DataSet) -> dict[str, Array]:
    """Return every measure of the four kernels."""
    found = evaluate(kernels(data.X.shape[1]), data.X, data.y, measures=[*MEASURES, *OURS], folds=0)
    return {name: found.values(name) for name in found.measures}


def cross_validated_errors(data: DataSet, classifier: str, repeats: int, rows: int) -> Array:
    """Return the error of the four kernels, `repeats` times stratified 5-fold.

    Parameters
    ----------
    data : DataSet
    classifier : {"C-SVC", "nu-SVC"}
        LIBSVM's default, C = 1; or nu = 0.2, which names the printed kernels far more often.
    repeats, rows : int
        Repetitions, and the most rows used.

    Returns
    -------
    array of shape (4,)
    """
    X, y, p = data.X, data.y, data.X.shape[1]
    if len(y) > rows:
        keep = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[keep], y[keep]
    folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(X, y))

    def error(kernel: str, train: Array, test: Array) -> float:
        options = {"kernel": kernel, "gamma": 1.0 / p, "coef0": 0.0, "cache_size": 300}
        machine = SVC(C=1.0, **options) if classifier == "C-SVC" else NuSVC(nu=0.2, **options)
        return float(np.mean(machine.fit(X[train], y[train]).predict(X[test]) != y[test]))

    # LIBSVM lets go of the interpreter, so threads suffice.
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [[pool.submit(error, k, *fold) for fold in folds] for k in SVC_NAMES.values()]
        return np.array([np.mean([job.result() for job in row]) for row in jobs])


def table_1(run: Run) -> Findings:
    """Run table 1 and figure 4 with both classifiers."""
    repeats, rows = run.choose(10, 1), run.choose(10**6, 1500)
    found = Findings()
    ranks: dict[str, dict[str, dict[str, int]]] = {"C-SVC": {}, "nu-SVC": {}}
    panels = []
    for name in PUBLISHED:
        try:
            data = run.load(name)
        except DataError as error:
            found.records.append(absent("Table 1", name, str(error)))
            continue
        values = measure_set(data)
        ranking = {m: rank_kernels_by(v, m in ("kta", *OURS[1:])) for m, v in values.items()}
        found.records.append(_triple(name, ranking))
        for classifier, rows_of in ranks.items():
            errors = cross_validated_errors(data, classifier, repeats, rows)
            best = int(np.argmin(errors))
            rows_of[name] = {m: int(r[best]) for m, r in ranking.items()}
            found.records += _cells(name, classifier, rows_of[name], list(SVC_NAMES)[best], errors)
            if classifier == "C-SVC":
                panels.append(_panel(name, values, errors))
    if panels:
        found.records += _averages(ranks)
        found.figures.append(
            Figure(
                "nguyen-ho-figure-4",
                "Figure 4: four kernels on nine data sets",
                "Bars as in the paper: 1 - KTA, CSM/(1 + CSM), FSM²/(1 + FSM²) and the "
                "cross-validation error of the C-SVC; leave-one-out FSM added. Low is good.",
                panels,
                columns=3,
            )
        )
    return found


def _triple(name: str, ranking: dict[str, Array]) -> Record:
    """Say whether some kernel has the printed ranks by all three measures."""
    printed = PUBLISHED[name]
    fits = [
        kernel
        for i, kernel in enumerate(SVC_NAMES)
        if tuple(int(ranking[m][i]) for m in MEASURES) == printed
    ]
    note = f"ranks {printed}: {fits[0]}" if fits else f"no kernel has the ranks {printed}"
    cell = f"{name}: kernels with the printed ranks"
    return compare("Table 1", cell, 1.0, float(len(fits)), digits=0, note=note)


def _cells(
    name: str, classifier: str, ours: dict[str, int], best: str, errors: Array
) -> list[Record]:
    shown = ", ".join(f"{k} {100 * e:.2f} %" for k, e in zip(SVC_NAMES, errors, strict=True))
    why = f"Here {best} errs least ({shown}); another kernel has the printed ranks, see above."
    cells = [
        compare("Table 1", f"{name}, {classifier}, rank by {m}", p, ours[m], digits=0, why=why)
        for m, p in zip(MEASURES, PUBLISHED[name], strict=True)
    ]
    return cells + [
        compare("Table 1", f"{name}, {classifier}, rank by {m}", None, ours[m], digits=0)
        for m in OURS
    ]


def _averages(ranks: dict[str, dict[str, dict[str, int]]]) -> list[Record]:
    """Return mean ranks, and the t-tests of the printed table."""
    printed = np.array(list(PUBLISHED.values()), dtype=float)
    records = []
    for k, (mean, deviation) in enumerate(AVERAGES):
        label = f"{MEASURES[k]}, from the printed ranks"
        records += [
            compare("Table 1", f"mean, {label}", mean, printed[:, k].mean(), digits=2),
            compare(
                "Table 1", f"deviation, {label}", deviation, printed[:, k].std(ddof=1), digits=2
            ),
        ]
    for k, other in enumerate(MEASURES[:2]):
        paired = ttest_rel(printed[:, 2], printed[:, k]).pvalue
        single = ttest_rel(printed[:, 2], printed[:, k], alternative="less").pvalue
        apart = ttest_ind(printed[:, 2], printed[:, k]).pvalue
        note = "The paper says significant at 5 % and not which test."
        for test, p in (("paired", paired), ("paired, one-sided", single), ("unpaired", apart)):
            cell = f"p-value, FSM against {other}, {test}"
            records.append(compare("Table 1", cell, None, float(p), note=note))
    for classifier, sets in ranks.items():
        for m in (*MEASURES, *OURS):
            mean = float(np.mean([row[m] for row in sets.values()]))
            published = dict(zip(MEASURES, (a for a, _ in AVERAGES), strict=True)).get(m)
            why = "The best kernel is another one on some sets, see above."
            cell = f"mean, {m}, {classifier}, {len(sets)} sets"
            records.append(compare("Table 1", cell, published, mean, digits=2, why=why))
    return records


def _panel(name: str, values: dict[str, Array], errors: Array) -> Panel:
    """Return the bars of one data set of figure 4."""
    bars = {
        "1 − KTA": 1.0 - values["kta"],
        "CSM norm": values["csm"] / (1.0 + values["csm"]),
        "FSM err": _bound(values["fsm"]),
        "FSM err, leave-one-out": _bound(values["fsm_loo"]),
        "CV error": errors,
    }
    x = np.arange(len(SVC_NAMES))
    curves = [Curve(label, x, np.asarray(y), "bars") for label, y in bars.items()]
    return Panel(name, "", "", curves, names=list(SVC_NAMES), ylim=(0.0, 1.0))


def _bound(fsm: Array) -> Array:
    return np.where(np.isfinite(fsm), 1.0 - 1.0 / (1.0 + fsm**2), 1.0)


def closed_form(angle: float, spread: float) -> float:
    """Return 1 - KTA of the linear kernel for infinitely many points of figure 3.

    With q = 1 - cos(angle) and a standard deviation of spread times the distance per axis, the
    second moments of both classes are mm' + v I with v = 2 spread² q, and |K|² = n² |E xx'|².
    """
    q = 1.0 - np.cos(np.deg2rad(angle))
    v = 2.0 * spread**2 * q
    # The mean of xx' over both classes has the eigenvalues q/2 + v and 1 - q/2 + v; of yx the
    # squared mean is q/2.
    norm = np.hypot(q / 2.0 + v, 1.0 - q / 2.0 + v)
    return float(1.0 - (q / 2.0) / norm)


READINGS = {"deviation d/2 in all": 0.5 / np.sqrt(2.0), "deviation d/2 per axis": 0.5}


def figure_3(run: Run) -> Findings:
    """Run figure 3 in the two readings of its standard deviation."""
    angles = (30, 60, 90, 120, 150, 180)
    repeats = run.choose(40, 20)
    found = Findings()
    panels = []
    for reading, spread in READINGS.items():
        kta, bound, error = (np.empty((repeats, len(angles))) for _ in range(3))
        for r in range(repeats):
            for j, angle in enumerate(angles):
                X, y = two_blobs(angle, spread, 500, run.rng(1000 * r + angle))
                row = evaluate([Linear()], X, y, measures=["kta", "fsm"], folds=0)
                kta[r, j] = 1.0 - row.values("kta")[0]
                bound[r, j] = _bound(row.values("fsm"))[0]
                if r == 0:
                    data = DataSet("", X, y)
                    error[0, j] = cross_validated_errors(data, "C-SVC", 1, 1000)[0]
        exact = np.array([closed_form(angle, spread) for angle in angles])
        for j, angle in enumerate(angles):
            sd = float(kta[:, j].std(ddof=1))
            cell = f"1 - KTA at {angle} degrees, {reading}"
            published = FIGURE_3.get(angle)
            if published is not None:
                why = (
                    f"More than three deviations of a sample ({3 * sd:.3f}) away: the paper's data "
                )
                why += "were not drawn like this."
                ours = float(kta[:, j].mean())
                found.records.append(
                    compare("Figure 3", cell, published, ours, tolerance=3.0 * sd, why=why)
                )
            cell = f"{cell}: closed form beside the mean of {repeats} samples"
            gap = abs(float(kta[:, j].mean()) - float(exact[j]))
            found.records.append(check("Figure 3", cell, gap, tolerance=0.015))
        flat = float(np.ptp(bound.mean(axis=0)))
        found.records.append(
            compare(
                "Figure 3", f"FSMerr varies over the angles, {reading}", 0.0, flat, tolerance=0.03
            )
        )
        curves = [
            Curve("1 − KTA", angles, kta.mean(axis=0)),
            Curve("1 − KTA, closed form", angles, exact, "dashed"),
            Curve("FSM err", angles, bound.mean(axis=0)),
            Curve("CV error", angles, error[0]),
            Curve("1 − KTA, printed", list(FIGURE_3), list(FIGURE_3.values()), "points"),
        ]
        panels.append(Panel(reading, "angle (degrees)", "", curves, ylim=(0.0, 1.0)))
    caption = "Two round clouds, turned about the origin: only KTA sees the angle."
    found.figures.append(
        Figure(
            "nguyen-ho-figure-3", "Figure 3: measures by the angle of the classes", caption, panels
        )
    )
    return found


PAPER = Paper(
    NAME,
    "An efficient kernel matrix evaluation measure",
    "C. H. Nguyen, T. B. Ho",
    "2008",
    "On all nine sets some kernel has exactly the printed ranks, so the measures are reproduced; "
    "which kernel errs least depends on the classifier. LIBSVM's default C-SVC names the paper's "
    "kernel on three or four of the nine sets, a nu-SVC with nu = 0.2 on seven, and then the mean "
    "ranks are the printed ones.",
    (
        Experiment(NAME, "formulas", "Formulas and theorems", formulas),
        Experiment(NAME, "figure-3", "Figure 3", figure_3),
        Experiment(NAME, "table-1", "Table 1 and figure 4", table_1, tuple(PUBLISHED)),
        Experiment(
            NAME, "criteria", "FSM, minimax probability and Fisher", criteria, tuple(PUBLISHED)
        ),
    ),
)

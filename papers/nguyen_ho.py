"""Nguyen & Ho (2008): An efficient kernel matrix evaluation measure.

Figure 3 (two clouds on a circle), figure 4 and table 1 (four kernels on nine data sets), the
theorems, and FSM beside the two criteria it is compared with in words.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_ind, ttest_rel
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import NuSVC

import gramsmith as gs
from gramsmith.kernels import Kernel
from papers.concentration import concentration
from papers.data import DataError, DataSet
from papers.experiment import Experiment, Findings, Paper, Run, error_rate
from papers.figure import Curve, Figure, Panel
from papers.generators import two_blobs
from papers.nguyen_ho_theory import accuracy_bound, criteria, formulas
from papers.record import Record, absent, check, compare, two_errors

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
NU = 0.2  # fitted
# LIBSVM's default, C = 1; the same with the polynomial (x'z)³ of "degree 3 with scale 1"; nu-SVC.
CLASSIFIERS = ("C-SVC", "C-SVC, scale 1", "nu-SVC")
SCALE_1: dict[str, Kernel] = {"polynomial": gs.Polynomial(degree=3, gamma=1.0, coef0=0.0)}
MEASURES = ("kta", "csm", "fsm")
OURS = ("fsm_loo", "cka", "cka_debiased")
KERNELS = ("linear", "polynomial", "Gaussian", "tanh")
# Section 4.2: sets where a measure puts neither Gaussian nor polynomial first, and where it puts
# tanh or linear last.
SECTION_42 = {"kta": (6, 0), "csm": (8, 0), "fsm": (1, 5)}
# Figure 3: 1 - KTA at 30 and at 180 degrees.
FIGURE_3 = {30: 0.936, 180: 0.395}


def kernels(p: int) -> dict[str, Kernel]:
    """Return the four kernels with LIBSVM's defaults for p features: gamma = 1/p, coef0 = 0."""
    return {
        "linear": gs.Linear(),
        "polynomial": gs.Polynomial(degree=3, gamma=1.0 / p, coef0=0.0),
        "Gaussian": gs.Gaussian.from_gamma(1.0 / p),
        "tanh": gs.Sigmoid(gamma=1.0 / p, coef0=0.0),
    }


def rank_kernels_by(values: Array, higher_is_better: bool) -> Array:
    """Return the rank of every kernel, 1 for the best."""
    order = np.argsort(-values if higher_is_better else values, kind="stable")
    ranks = np.empty(len(values), dtype=int)
    ranks[order] = np.arange(1, len(values) + 1)
    return ranks


def measure_set(data: DataSet) -> dict[str, Array]:
    """Return every measure of the four kernels; the scale of a kernel plays no part."""
    four = kernels(data.X.shape[1])
    found = gs.evaluate(four, data.X, data.y, measures=[*MEASURES, *OURS], folds=0)
    return {name: found.values(name) for name in found.measures}


def rank_set(values: dict[str, Array]) -> dict[str, Array]:
    """Return the ranks of the kernels by every measure."""
    return {m: rank_kernels_by(v, m in ("kta", *OURS[1:])) for m, v in values.items()}


def cross_validated_errors(
    data: DataSet,
    classifier: str,
    repeats: int,
    rows: int,
    only: dict[str, Kernel] | None = None,
) -> Array:
    """Return the error of the four kernels, `repeats` times stratified 5-fold.

    Parameters
    ----------
    data : DataSet
    classifier : {"C-SVC", "nu-SVC"}
        The nu-SVC names the printed kernels far more often.
    repeats, rows : int
        Repetitions, and the most rows used.
    only : dict of kernels, optional
        Instead of the four.

    Returns
    -------
    array of shape (4,)
    """
    X, y = data.X, data.y
    if len(y) > rows:
        keep = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[keep], y[keep]
    folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(X, y))

    def error(K: Array, train: Array, test: Array) -> float:
        machine = _nu_svc() if classifier == "nu-SVC" else gs.KernelSVC("precomputed")
        machine.fit(K[np.ix_(train, train)], y[train])
        return error_rate(machine, K[np.ix_(test, train)], y[test])

    errors = []
    # LIBSVM lets go of the interpreter, so threads suffice.
    with ThreadPoolExecutor(max_workers=2) as pool:
        for kernel in (only or kernels(data.X.shape[1])).values():
            K = kernel(X)
            errors.append(np.mean(list(pool.map(lambda fold, K=K: error(K, *fold), folds))))
    return np.array(errors)


def _nu_svc() -> NuSVC:
    """Return the classifier that names the printed kernels more often; the library has none."""
    return NuSVC(nu=NU, kernel="precomputed", cache_size=300)


def table_1(run: Run) -> Findings:
    """Run table 1, figure 4 and the counts of section 4.2 with both classifiers."""
    repeats, rows = run.choose(10, 1), run.choose(10**6, 1500)
    found = Findings()
    ranks: dict[str, dict[str, dict[str, int]]] = {name: {} for name in CLASSIFIERS}
    rankings: dict[str, dict[str, Array]] = {}
    panels = []
    for name in PUBLISHED:
        try:
            data = run.load(name)
        except DataError as error:
            found.records.append(absent("Table 1", name, str(error)))
            continue
        values = measure_set(data)
        rankings[name] = ranking = rank_set(values)
        found.records.append(_triple(name, ranking, run))
        plain, scaled, nu = (
            cross_validated_errors(data, classifier, repeats, rows, only)
            for classifier, only in (("C-SVC", None), ("C-SVC", SCALE_1), ("nu-SVC", None))
        )
        # the scale of one kernel, the other three as before
        one = np.where(np.array(KERNELS) == "polynomial", scaled, plain)
        for (classifier, rows_of), errors in zip(ranks.items(), (plain, one, nu), strict=True):
            best = int(np.argmin(errors))
            rows_of[name] = {m: int(r[best]) for m, r in ranking.items()}
            found.records += _cells(name, classifier, rows_of[name], KERNELS[best], errors)
            if classifier == "C-SVC":
                panels.append(_panel(name, values, errors))
    if panels:
        found.records += _counts(rankings)
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


def fitting_kernels(name: str, ranking: dict[str, Array]) -> list[str]:
    """Return the kernels with the printed ranks by all three measures."""
    return [
        kernel
        for i, kernel in enumerate(KERNELS)
        if tuple(int(ranking[m][i]) for m in MEASURES) == PUBLISHED[name]
    ]


def groupings() -> list[tuple[int, ...]]:
    """Return the seven ways to make two classes of vehicle's four: those that go with class 1."""
    others = [c for r in range(3) for c in combinations((2, 3, 4), r)]
    return [(1, *c) for c in others]


def _triple(name: str, ranking: dict[str, Array], run: Run) -> Record:
    """Show which kernel has the printed ranks by all three measures, if any has."""
    fits = fitting_kernels(name, ranking)
    note = f"ranks {PUBLISHED[name]}: {', '.join(fits) or 'none'}"
    if name == "vehicle":
        matches = []
        for group in groupings():
            data = run.load("vehicle", grouping=group)
            if fitting_kernels(name, rank_set(measure_set(data))):
                matches.append(" and ".join(map(str, group)))
        note += (
            f". The grouping of the four classes was fitted: {len(matches)} of {len(groupings())} "
            f"gives these ranks to some kernel, {' or '.join(matches)} against the others"
        )
    return compare(
        "Table 1", f"{name}: kernels with the printed ranks", None, len(fits), digits=0, note=note
    )


def _cells(
    name: str, classifier: str, ours: dict[str, int], best: str, errors: Array
) -> list[Record]:
    shown = ", ".join(f"{k} {100 * e:.2f} %" for k, e in zip(KERNELS, errors, strict=True))
    why = f"Here {best} errs least ({shown}); another kernel has the printed ranks, see above"
    fitted = []
    if classifier == "nu-SVC":
        fitted.append(f"nu = {NU} was fitted, the text says LIBSVM's defaults")
    if name == "vehicle":
        fitted.append("the grouping of the classes was fitted")
    cells = [
        compare(
            "Table 1",
            f"{name}, {classifier}, rank by {m}",
            p,
            ours[m],
            digits=0,
            why=why,
            fitted="; ".join(fitted),
        )
        for m, p in zip(MEASURES, PUBLISHED[name], strict=True)
    ]
    return cells + [
        compare("Table 1", f"{name}, {classifier}, rank by {m}", None, ours[m], digits=0)
        for m in (OURS if classifier != CLASSIFIERS[1] else ())
    ]


def _counts(rankings: dict[str, dict[str, Array]]) -> list[Record]:
    """Return the counts of section 4.2: what is ranked first, and what last."""
    records = []
    for m, (first, last) in SECTION_42.items():
        top = [KERNELS[int(np.argmin(ranking[m]))] for ranking in rankings.values()]
        end = [KERNELS[int(np.argmax(ranking[m]))] for ranking in rankings.values()]
        fails = sum(kernel in ("linear", "tanh") for kernel in top)
        agrees = sum(kernel in ("linear", "tanh") for kernel in end)
        for cell, printed, ours in (
            (f"{m}: sets where neither Gaussian nor polynomial is first", first, fails),
            (f"{m}: sets where tanh or linear is last", last, agrees),
        ):
            why = "One set otherwise; the bars of the paper's figure 4 are not printed as numbers"
            records.append(compare("Section 4.2", cell, printed, ours, digits=0, why=why))
    return records


def _averages(ranks: dict[str, dict[str, dict[str, int]]]) -> list[Record]:
    """Return mean ranks, the sets that agree, and the t-tests of the printed table."""
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
        right = [n for n, row in sets.items() if tuple(row[m] for m in MEASURES) == PUBLISHED[n]]
        wrong = [n for n in sets if n not in right]
        note = f"not on {', '.join(wrong)}" if wrong else "on all sets"
        cell = f"{classifier}, sets whose best kernel has the printed ranks"
        records.append(compare("Table 1", cell, None, len(right), digits=0, note=note))
        for k, m in enumerate((*MEASURES, *OURS)):
            mean = float(np.mean([row[m] for row in sets.values()]))
            if k < len(AVERAGES) and wrong:
                note = (
                    f"printed {AVERAGES[k][0]:.2f}; a mean cannot agree while single sets do not: "
                    f"{', '.join(wrong)}"
                )
            else:
                note = ""
            published = AVERAGES[k][0] if k < len(AVERAGES) and not wrong else None
            cell = f"mean, {m}, {classifier}, {len(sets)} sets"
            records.append(compare("Table 1", cell, published, mean, digits=2, note=note))
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
    x = np.arange(len(KERNELS))
    curves = [Curve(label, x, np.asarray(y), "bars") for label, y in bars.items()]
    return Panel(name, "", "", curves, names=list(KERNELS), ylim=(0.0, 1.0))


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
    repeats = 40
    found = Findings()
    panels = []
    for reading, spread in READINGS.items():
        kta, bound, error = (np.empty((repeats, len(angles))) for _ in range(3))
        for r in range(repeats):
            for j, angle in enumerate(angles):
                X, y = two_blobs(angle, spread, 500, run.rng(1000 * r + angle))
                row = gs.evaluate([gs.Linear()], X, y, measures=["kta", "fsm"], folds=0)
                kta[r, j] = 1.0 - row.values("kta")[0]
                bound[r, j] = _bound(row.values("fsm"))[0]
                if r == 0:
                    data, linear = DataSet("", X, y), {"linear": gs.Linear()}
                    folds = run.choose(10, 1)
                    error[0, j] = cross_validated_errors(data, "C-SVC", folds, 1000, linear)[0]
        exact = np.array([closed_form(angle, spread) for angle in angles])
        for j, angle in enumerate(angles):
            sd = float(kta[:, j].std(ddof=1))
            cell = f"1 - KTA at {angle} degrees, {reading}"
            published = FIGURE_3.get(angle)
            if published is not None:
                ours = float(kta[:, j].mean())
                away = abs(ours - published) / sd
                found.records.append(
                    compare(
                        "Figure 3",
                        cell,
                        published,
                        ours,
                        tolerance=two_errors(kta[:, j].tolist(), sd, 1),
                        note=f"{away:.1f} deviations of a sample away",
                        why="The paper's data were not drawn like this",
                    )
                )
            cell = f"{cell}: closed form beside the mean of {repeats} samples"
            gap = abs(float(kta[:, j].mean()) - float(exact[j]))
            found.records.append(check("Figure 3", cell, gap, tolerance=0.015))
        flat = float(np.ptp(bound.mean(axis=0)))
        found.records.append(
            compare("Figure 3", f"FSMerr, range over the angles, {reading}", None, flat)
        )
        spread = float(np.ptp(error[0]))
        found.records.append(
            compare("Figure 3", f"CV error, range over the angles, {reading}", None, spread)
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


def concentrated(run: Run) -> Findings:
    """Show (6), the concentration of the alignment, and (7) as a bound on the accuracy."""

    def sample(n: int, rng: np.random.Generator) -> float:
        X, y = two_blobs(90.0, 0.5, n // 2, rng)
        return gs.kta(gs.Gram(gs.Linear(), X), y)

    found = concentration("(6)", "nguyen-ho-concentration", "the alignment (5)", sample, run)
    found.records += accuracy_bound(run)
    return found


PAPER = Paper(
    NAME,
    "An efficient kernel matrix evaluation measure",
    "C. H. Nguyen, T. B. Ho",
    "2008",
    "On all nine sets some kernel has exactly the printed ranks (on vehicle by a grouping of its "
    "classes that was fitted), so the measures are reproduced; which kernel errs least depends on "
    "the classifier. LIBSVM's default C-SVC names the paper's kernel on three of the nine sets, a "
    "nu-SVC with a fitted nu = 0.2 on seven; on the other two it exchanges the printed ranks, so "
    "that the mean ranks agree and the sets do not.",
    (
        Experiment(NAME, "formulas", "Formulas and theorems", formulas),
        Experiment(NAME, "concentration", "(6), (7): concentration and accuracy", concentrated),
        Experiment(NAME, "figure-3", "Figure 3", figure_3),
        Experiment(NAME, "table-1", "Table 1 and figure 4", table_1, tuple(PUBLISHED)),
        Experiment(
            NAME, "criteria", "FSM, minimax probability and Fisher", criteria, tuple(PUBLISHED)
        ),
    ),
)

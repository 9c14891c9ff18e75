"""Kandola & Shawe-Taylor (2003): Refining kernels for regression and uneven classification.

Tables 1 and 2 (documents on one query, 39 of 1033 relevant) and table 3 (miles per gallon), by the
recipe that fits the printed numbers; the theorems and the noise sweep are in
`kandola_shawe_taylor_theory`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, KFold

import gramsmith as gs
from papers.concentration import concentration
from papers.experiment import (
    Experiment,
    Findings,
    Paper,
    Run,
    error_rate,
    mean_f1,
    squared_error,
)
from papers.figure import Curve, Figure, Panel
from papers.generators import two_blobs
from papers.kandola_shawe_taylor_theory import formulas, noise
from papers.porter import words
from papers.record import Record, compare, two_errors

Array = npt.NDArray[Any]
NAME = "kandola-shawe-taylor"

FRACTIONS = (80, 50, 20)
COLUMNS = ("train alignment", "test alignment", "SVC error", "Parzen error", "F1")
# (value, deviation over ten splits) per column.
TABLE_1 = {
    "K80": ((0.103, 0.008), (0.096, 0.020), (0.357, 0.109), (0.963, 0.014), (0.472, 0.001)),
    "G80": ((0.141, 0.009), (0.110, 0.015), (0.183, 0.078), (0.916, 0.012), (0.481, 0.001)),
    "K50": ((0.112, 0.023), (0.089, 0.021), (0.381, 0.208), (0.964, 0.010), (0.603, 0.014)),
    "G50": ((0.175, 0.028), (0.094, 0.020), (0.139, 0.032), (0.956, 0.009), (0.615, 0.012)),
    "K20": ((0.099, 0.012), (0.093, 0.003), (0.404, 0.228), (0.962, 0.003), (0.427, 0.177)),
    "G20": ((0.105, 0.014), (0.100, 0.004), (0.358, 0.222), (0.957, 0.007), (0.441, 0.019)),
}
TABLE_2 = {
    "K80": ((0.098, 0.006), (0.109, 0.015), (0.342, 0.081), (0.960, 0.010), (0.442, 0.018)),
    "G80": ((0.157, 0.006), (0.153, 0.013), (0.248, 0.042), (0.251, 0.045), (0.564, 0.005)),
    "K50": ((0.104, 0.012), (0.093, 0.011), (0.394, 0.150), (0.964, 0.006), (0.448, 0.021)),
    "G50": ((0.161, 0.011), (0.129, 0.012), (0.266, 0.039), (0.269, 0.039), (0.529, 0.010)),
    "K20": ((0.110, 0.028), (0.097, 0.096), (0.428, 0.296), (0.963, 0.004), (0.427, 0.052)),
    "G20": ((0.148, 0.025), (0.129, 0.010), (0.309, 0.074), (0.337, 0.079), (0.444, 0.012)),
}
TABLE_3 = {
    "K80": ((0.531, 0.015), (0.521, 0.062), (18.23, 3.19)),
    "G80": ((0.574, 0.013), (0.560, 0.049), (7.89, 1.18)),
    "K50": ((0.534, 0.055), (0.524, 0.056), (16.58, 2.35)),
    "G50": ((0.590, 0.054), (0.539, 0.055), (7.55, 0.69)),
    "K20": ((0.491, 0.026), (0.538, 0.006), (18.57, 4.35)),
    "G20": ((0.514, 0.045), (0.566, 0.009), (9.12, 3.12)),
}
LAMBDAS = 10.0 ** np.arange(-6, 4)


def bag_of_words(texts: list[str], counts: bool = False) -> Array:
    """Return the kernel of documents: unit rows of log(1 + tf) log(m/df), shape (m, m).

    Parameters
    ----------
    texts : list of str
    counts : bool
        Whether tf is the count of a term, and not its share in the document. With counts the
        printed alignments do not appear.
    """
    documents = [Counter(words(text)) for text in texts]
    vocabulary = {word: j for j, word in enumerate(sorted(set().union(*documents)))}
    N = np.zeros((len(documents), len(vocabulary)))
    for i, document in enumerate(documents):
        for word, count in document.items():
            N[i, vocabulary[word]] = count
    df = np.count_nonzero(N, axis=0)
    tf = N if counts else N / N.sum(axis=1, keepdims=True)
    X = np.log1p(tf) * np.log(len(documents) / df)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X @ X.T)


def splits(n: int, percent: int, count: int) -> list[tuple[Array, Array]]:
    """Return random splits, not stratified, as (training rows, test rows)."""
    size = round(percent / 100 * n)
    shuffles = (np.random.default_rng(seed).permutation(n) for seed in range(count))
    return [(order[:size], order[size:]) for order in shuffles]


Blocks = tuple[Array, Array, Array]  # (I, I), (I, J), (J, J)


def blocks(K: Array, I: Array, J: Array) -> Blocks:
    """Cut the blocks of training and test rows out of a matrix."""
    return K[np.ix_(I, I)], K[np.ix_(I, J)], K[np.ix_(J, J)]


def unit_diagonal(G: Blocks) -> Blocks:
    """Scale to ones on the diagonal; the printed alignments of G need it, the text does not say."""
    a, b = np.sqrt(np.diag(G[0])), np.sqrt(np.diag(G[2]))
    return G[0] / np.outer(a, a), G[1] / np.outer(a, b), G[2] / np.outer(b, b)


def inductive(K: Array, y: Array, I: Array, J: Array) -> Blocks:
    """Return G of algorithm 1, from the training block alone: threshold 1e-9."""
    aligner = gs.SpectralAligner(
        "precomputed", threshold=1e-9, method="eigen", target="imbalanced", keep=1.0
    )
    P = aligner.fit(K[np.ix_(I, I)], y[I]).transform(K[np.ix_(I, I)])
    Q = aligner.transform(K[np.ix_(J, I)])
    return P @ P.T, P @ Q.T, Q @ Q.T


def transductive(K: Array, y: Array, I: Array, J: Array, **options: Any) -> Blocks:
    """Return G of the printed rule, with eigenvectors of the whole matrix, unit diagonal.

    alpha = (v't)²/(v'v)² on the training rows would be exact for orthogonal v only.
    """
    G = gs.transductive_alignment(K, y[I], I, rule="diagonal", **options)
    return unit_diagonal(blocks(G, I, J))


def every_direction(V: Array, t: Array, I: Array, J: Array) -> Blocks:
    """Return G of the printed rule with every eigenvector, those of the eigenvalue zero too.

    They are an arbitrary basis, which the library leaves out; only with them do the .574 and
    .590 of table 3 appear.
    """
    part = V[I]
    alpha = (part.T @ t) ** 2 / np.sum(part**2, axis=0) ** 2
    return unit_diagonal(blocks((V * alpha) @ V.T, I, J))


def score(G: Blocks, y: Array, I: Array, J: Array) -> tuple[float, ...]:
    """Return the five columns of tables 1 and 2.

    The "SVC" that fits them is sgn(Σ t_i k(x_i, x)), the plain Parzen window of the uneven target:
    what LIBSVM returns when that target is passed as the labels, every alpha at C. The "Parzen
    window" has the weights twice, 1/n² each. F1 is the mean over both classes.
    """
    twice = np.where(y[I] > 0, np.sum(y[I] > 0), np.sum(y[I] < 0)).astype(float) ** -2
    svc = gs.ParzenClassifier("precomputed", threshold=0.0).fit(G[0], y[I])
    parzen = gs.ParzenClassifier("precomputed", weights="uniform", threshold=0.0)
    parzen.fit(G[0], y[I], sample_weight=twice)
    return (
        gs.kta(G[0], y[I], target="imbalanced"),
        gs.kta(G[2], y[J], target="imbalanced"),
        error_rate(svc, G[1].T, y[J]),
        error_rate(parzen, G[1].T, y[J]),
        mean_f1(svc, G[1].T, y[J]),
    )


def summarise(
    table: str,
    row: str,
    printed: Any,
    values: Array,
    columns: Any,
    why: str,
    fitted: dict[str, str] | None = None,
) -> list[Record]:
    """Compare means over ten splits; two standard errors of the difference are agreement."""
    records = []
    for k, column in enumerate(columns):
        value, deviation = printed[k]
        ours, sd = float(values[:, k].mean()), float(values[:, k].std(ddof=1))
        note = f"deviation {sd:.3f}, printed {deviation:.3f}"
        if (table, row, column) == MISPRINT:
            note += ", evidently .010; ours is taken for both"
            deviation = sd
        records.append(
            compare(
                table,
                f"{row}, {column}",
                value,
                ours,
                tolerance=two_errors(values[:, k].tolist(), deviation, 10),
                digits=2 if value > 1 else 3,
                note=note,
                why=why,
                fitted=(fitted or {}).get(column, ""),
            )
        )
    return records


MISPRINT = ("Table 2", "K20", "test alignment")  # its deviation
WHY_G = "Neither the printed rule nor the exact optimum gives this row"
WHY_F1 = "At the printed error of .381 the mean F1 of both classes is at most .46"
WHY_FAR = "More than two standard errors of the difference away"
UNIT = "G is scaled to unit diagonal, which the text does not say"
FITTED = {
    "SVC error": "the machine was fitted: sgn Σ t k, and not the SVC of the text, which errs in "
    "2 to 4 %",
    "Parzen error": "the machine was fitted: the class weights twice; once, it is the SVC column",
    "F1": "the machine was fitted, and F1 is the mean over classes",
}


def medline(run: Run) -> Findings:
    """Run tables 1 and 2, and the support vector machine that the text describes."""
    data = run.load("med")
    y, K = data.y, bag_of_words(data.texts)
    found = Findings()
    rows: dict[tuple[str, str], Array] = {}
    plainer: dict[str, list[float]] = {}
    for percent in FRACTIONS:
        scores: dict[tuple[str, str], list[tuple[float, ...]]] = {}
        for I, J in splits(len(y), percent, 10):
            plain = score(blocks(K, I, J), y, I, J)
            refined = inductive(K, y, I, J)
            for table, G in (
                ("Table 1", transductive(K, y, I, J, target="imbalanced")),
                ("Table 2", unit_diagonal(refined)),
            ):
                scores.setdefault((table, f"K{percent}"), []).append(plain)
                scores.setdefault((table, f"G{percent}"), []).append(score(G, y, I, J))
            aligned = gs.kta(refined[0], y[I], target="imbalanced")
            plainer.setdefault(f"G{percent}", []).append(aligned)
        rows |= {key: np.array(value) for key, value in scores.items()}
    for (table, row), values in sorted(rows.items()):
        printed = (TABLE_1 if table == "Table 1" else TABLE_2)[row]
        fitted = dict(FITTED)
        why = WHY_G if (table, row[0]) == ("Table 1", "G") else WHY_FAR
        if (table, row) == ("Table 1", "K50"):
            why = WHY_F1
        if row.startswith("G"):
            fitted = {column: f"{UNIT}. {fitted[column]}" for column in fitted}
            fitted |= dict.fromkeys(COLUMNS[:2], UNIT)
        found.records += summarise(table, row, printed, values, COLUMNS, why, fitted)
    for row, bare in plainer.items():
        cell = f"{row}, train alignment without the unit diagonal"
        found.records.append(compare("Table 2", cell, None, float(np.mean(bare))))
    counted = bag_of_words(data.texts, counts=True)
    for percent in FRACTIONS:
        by_count = [
            gs.kta(counted[np.ix_(I, I)], y[I], target="imbalanced")
            for I, _ in splits(len(y), percent, 10)
        ]
        cell = f"K{percent}, train alignment with tf as a count"
        found.records.append(compare("Table 2", cell, None, float(np.mean(by_count))))
    found.records += proper_svc(K, y, run)
    found.figures.append(_figure(rows))
    return found


def proper_svc(K: Array, y: Array, run: Run) -> list[Record]:
    """Train the SVC of the text, labels ±1 and C by 10-fold cross-validation, on K and on G."""
    records = []
    grid = {"C": [0.1, 1.0, 10.0, 100.0]}
    for percent in FRACTIONS[: run.choose(3, 1)]:
        results: dict[str, list[tuple[float, float]]] = {"K": [], "G": []}
        chosen: dict[str, float] = {}
        for I, J in splits(len(y), percent, run.choose(10, 2)):
            for name, G in (
                ("K", blocks(K, I, J)),
                ("G", unit_diagonal(inductive(K, y, I, J))),
            ):
                if name not in chosen:  # as in the paper: C once, then the splits
                    folds = KFold(10, shuffle=True, random_state=0)
                    search = GridSearchCV(gs.KernelSVC("precomputed"), grid, cv=folds)
                    chosen[name] = float(search.fit(G[0], y[I]).best_params_["C"])
                machine = gs.KernelSVC("precomputed", C=chosen[name]).fit(G[0], y[I])
                scored = error_rate(machine, G[1].T, y[J]), mean_f1(machine, G[1].T, y[J])
                results[name].append(scored)
        for name, values in results.items():
            note = f"labels ±1, C = {chosen[name]:g} by 10-fold cross-validation"
            for k, column in enumerate(("error", "F1")):
                cell = f"{name}{percent}, SVC as described, {column}"
                mean = float(np.mean([value[k] for value in values]))
                records.append(compare("Table 2", cell, None, mean, note=note))
    return records


def _figure(rows: dict[tuple[str, str], Array]) -> Figure:
    panels = []
    names = [f"{kernel}{percent}" for percent in FRACTIONS for kernel in "KG"]
    x = np.arange(len(names))
    for k, column in enumerate(COLUMNS[:4]):
        curves = []
        for table, printed in (("Table 1", TABLE_1), ("Table 2", TABLE_2)):
            ours = np.array([rows[table, name][:, k].mean() for name in names])
            theirs = np.array([printed[name][k][0] for name in names])
            curves += [
                Curve(f"{table}, ours", x, ours, "bars"),
                Curve(f"{table}, printed", x, theirs, "bars"),
            ]
        panels.append(Panel(column, "", "", curves, names=names))
    caption = (
        "Means over ten splits. K is the kernel, G the refined one; the number is the "
        "percentage used for training."
    )
    name = "kandola-shawe-taylor-tables-1-2"
    return Figure(name, "Tables 1 and 2: documents, before and after refinement", caption, panels)


WHY_3 = (
    "The paper's 353 rows may have an error like that (without the 39 worst residuals least "
    "squares leaves 5.68 in sample), ours do not. Of G the printed alignments need the "
    "eigenvectors of the eigenvalue zero, a basis that is arbitrary"
)
UNIT_3 = "Unit diagonal, and for G every eigenvector, were fitted"


def auto_mpg(run: Run) -> Findings:
    """Run table 3: six inputs scaled to [-1, 1], unit diagonal, ridge without bias."""
    data = run.load("auto-mpg")
    X = 2.0 * (data.X - data.X.min(axis=0)) / np.ptp(data.X, axis=0) - 1.0
    raw = X @ X.T
    V = np.linalg.eigh(raw)[1]
    found = Findings()
    ridge = gs.KernelRidgeRegressor("precomputed", fit_intercept=False)
    folds = KFold(10, shuffle=True, random_state=0)
    search = GridSearchCV(ridge, {"alpha": LAMBDAS}, cv=folds, scoring="neg_mean_squared_error")
    for percent in FRACTIONS:
        rows: dict[str, list[tuple[float, float, float]]] = {"K": [], "G": []}
        chosen: dict[str, float] = {}
        for I, J in splits(len(data.y), percent, 10):
            mean = data.y[I].mean()
            t = data.y[I] - mean
            for name, G in (
                ("K", unit_diagonal(blocks(raw, I, J))),
                ("G", every_direction(V, t, I, J)),
            ):
                if name not in chosen:  # as in the paper: lambda once, then the splits
                    chosen[name] = float(search.fit(G[0], t).best_params_["alpha"])
                machine = clone(ridge).set_params(alpha=chosen[name]).fit(G[0], t)
                error = squared_error(machine, G[1].T, data.y[J] - mean)
                train = gs.kta(G[0], data.y[I], task="regression")
                test = gs.kta(G[2], data.y[J], task="regression")
                rows[name].append((train, test, error))
        for name, values in rows.items():
            columns = ("train alignment", "test alignment", "ridge error")
            printed = TABLE_3[f"{name}{percent}"]
            why = WHY_3 if name == "G" else WHY_FAR
            fitted = dict.fromkeys(columns, UNIT_3)
            found.records += summarise(
                "Table 3", f"{name}{percent}", printed, np.array(values), columns, why, fitted
            )
    note = "the paper has 353 rows and does not say which it left out"
    found.records.append(compare("Table 3", "rows", 353, len(data.y), digits=0, why=note))
    floor, rest = least_squares_error(X, data.y, drop=39)
    cell = "in-sample error of least squares with a bias"
    found.records.append(compare("Table 3", f"{cell}, 392 rows", None, floor, digits=2))
    note = "without the 39 worst residuals, one after the other"
    found.records.append(compare("Table 3", f"{cell}, 353 rows", None, rest, digits=2, note=note))
    return found


def least_squares_error(X: Array, y: Array, drop: int) -> tuple[float, float]:
    """Return the mean squared residual of least squares with a bias, and without the worst rows.

    The row of the largest residual goes, the others are fitted again, and so on.
    """
    A = np.column_stack([np.ones(len(y)), X])
    rows = np.arange(len(y))
    errors = []
    for _ in range(drop + 1):
        residual = y[rows] - A[rows] @ np.linalg.lstsq(A[rows], y[rows], rcond=None)[0]
        errors.append(float(np.mean(residual**2)))
        rows = np.delete(rows, np.abs(residual).argmax())
    return errors[0], errors[-1]


def concentrated(run: Run) -> Findings:
    """Show sections 3 and 4's claims that the alignment stays concentrated."""

    def regression(n: int, rng: np.random.Generator) -> float:
        X, y = make_friedman1(n, noise=1.0, random_state=int(rng.integers(2**31)))
        return gs.kta(gs.Gram(gs.Gaussian(1.0), X), y, task="regression")

    def uneven(n: int, rng: np.random.Generator) -> float:
        X, y = two_blobs(90.0, 0.5, n, rng)
        keep = np.r_[: n // 10, n : 2 * n - n // 10]
        return gs.kta(gs.Gram(gs.Gaussian(1.0), X[keep]), y[keep], target="imbalanced")

    name = "kandola-shawe-taylor-concentration"
    found = concentration("Section 3", f"{name}-3", "the regression alignment", regression, run)
    other = concentration("Section 4", f"{name}-5", "the uneven alignment, 1 in 10", uneven, run)
    return Findings(found.records + other.records, found.figures + other.figures)


PAPER = Paper(
    NAME,
    "Refining kernels for regression and uneven classification problems",
    "J. Kandola, J. Shawe-Taylor",
    "2003",
    "Most of table 2 agrees within two standard errors of the difference, but only by a recipe "
    'that was fitted: relative term frequencies, G scaled to unit diagonal, and an "SVC" that is a '
    "weighted Parzen window. A real SVC errs far less. The regression errors of the refined kernel "
    "in table 3 do not appear on our rows, where G errs twice as much as K.",
    (
        Experiment(NAME, "formulas", "Theorems and algorithm 1", formulas),
        Experiment(NAME, "concentration", "Concentration of the alignment", concentrated),
        Experiment(NAME, "medline", "Tables 1 and 2", medline, ("med",)),
        Experiment(NAME, "auto-mpg", "Table 3", auto_mpg, ("auto-mpg",)),
        Experiment(NAME, "noise", "Noise, the paper's future work", noise),
    ),
)

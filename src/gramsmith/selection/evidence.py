"""Evidence: what people want to see of a ranking, from held-out rows, as plain values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from gramsmith.fingerprint import fingerprint
from gramsmith.gram.threads import dense_work
from gramsmith.kernels import Precomputed
from gramsmith.report.axes import without_outliers
from gramsmith.report.pictures import kernel_map
from gramsmith.report.words import number
from gramsmith.selection.candidates import Candidate
from gramsmith.selection.choose import Findings, count_copies
from gramsmith.selection.estimate import wilson
from gramsmith.selection.held_out import LEVEL, HeldOut, Scored, compared, score
from gramsmith.selection.kinds import Classes, Labels
from gramsmith.selection.problem import Problem
from gramsmith.selection.samples import Samples
from gramsmith.selection.scores import Answers, class_of, positive_class
from gramsmith.selection.sequences import SequenceReading, sequences_of
from gramsmith.selection.task import NoFolds, Task
from gramsmith.selection.thresholds import ThresholdTable, can_flag, threshold_table
from gramsmith.selection.verify import fold_values
from gramsmith.selection.work import Work
from gramsmith.tables import Column, TableEncoder
from gramsmith.tables.convert import Cells, frame_columns, missing_cells, plain, typed
from gramsmith.tables.decide import copy_of_target

Array = npt.NDArray[Any]

GRAM_ROWS = 240  # rows of the Gram matrix that is drawn
MAP_ROWS = 400  # rows of the map
WIDE = 2000  # features past which columns are not shuffled
SHUFFLED_ROWS = 600  # rows on which columns are shuffled
FEW_SHUFFLED_ROWS = 200  # to find the columns that matter among
MOST_SHUFFLED = 30  # and more
LINEAR_CELLS = 2_000_000  # cells of the table to which the linear model is fitted
POINTS = 400  # rows that are drawn as points
CURVES = 8  # classes that have a curve
STEPS = 120  # points of a curve
BINS = 12  # of a small histogram
WORST = 10  # mistakes that are listed
EFFECTS, EFFECT_VALUES, EFFECT_ROWS = 6, 8, 120  # columns, values and rows of partial dependence
PICTURES = 1000  # columns that have one
PICTURE_ROWS = 20_000  # rows it is made of
CALIBRATED = ("ridge", "landmarks", "average")  # machines that have probabilities
LONG = 2.0  # times the other evidence: the least that a linear model or importances may take


@dataclass(frozen=True)
class Curve:
    """A curve of one class against all others, and the point on it that is in use."""

    name: str
    x: Array  # share of false alarms, or recall
    y: Array  # share of true alarms, or precision
    area: float  # under the ROC curve, or the average precision
    used: tuple[float, float]  # where the threshold in use stands
    share: float  # of the class, which is the precision of guessing


@dataclass(frozen=True)
class Reliability:
    """Probabilities that were said of held-out rows in tenths, and what came true."""

    of: str  # class the probabilities are of; empty: of the answer that was given
    said: Array  # mean probability; tenths of few rows are joined
    true: Array  # share that came true
    low: Array  # ends of an interval of 95 % of the share
    high: Array
    gap: float  # mean distance of said and true, weighted by rows


@dataclass(frozen=True)
class TargetOutcome:
    """What was said of one of several outputs or labels on held-out rows."""

    name: str
    score: float  # R² of an output, or the accuracy of a label
    error: float  # of the score
    baseline: float  # the score of the mean, or of the majority
    # of outputs, in their own unit: "half" and "nine of ten" of the absolute errors, and "mean"
    errors: dict[str, float] = field(default_factory=dict)
    actual: Array = field(default_factory=lambda: np.empty(0))  # of outputs: a sample of the rows
    predicted: Array = field(default_factory=lambda: np.empty(0))
    # of labels: rows, or sums of their weights, that have it and were said to, have it, were said
    found: float = 0.0
    there: float = 0.0
    said: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """What the winner said of rows that it was not trained on."""

    kind: str  # "cross-validation" or "leave-one-out"
    rows: int  # that were tested
    classes: list[str] = field(default_factory=list)  # empty for values
    # true class by answer, (C, C): numbers of rows, or sums of their weights
    confusion: Array = field(default_factory=lambda: np.empty((0, 0)))
    weighted: bool = False  # whether rows have weights
    threshold: float = 0.0  # above this decision value the second of two classes is answered
    thresholds: ThresholdTable | None = None  # what others would do; of two classes only
    roc: list[Curve] = field(default_factory=list)  # of classes, or of several labels
    precision_recall: list[Curve] = field(default_factory=list)
    reliability: Reliability | None = None  # None where the machine gives no probabilities
    actual: Array = field(default_factory=lambda: np.empty(0))  # values of a sample of the rows
    predicted: Array = field(default_factory=lambda: np.empty(0))  # empty for several outputs
    # of values: "half" and "nine of ten" of the absolute errors are below this, and "mean"
    errors: dict[str, float] = field(default_factory=dict)
    targets: list[TargetOutcome] = field(default_factory=list)  # of several outputs or labels
    # the surest mistakes, or the largest errors: row from 1, true, predicted, probability or error
    worst: list[tuple[int, str, str, float]] = field(default_factory=list)

    @property
    def recall(self) -> Array:
        """Share of each class that was found; NaN for classes that were not tested."""
        return _shares(np.diagonal(self.confusion), self.confusion.sum(axis=1))

    @property
    def precision(self) -> Array:
        """Share of right answers among those that name a class; NaN if none does."""
        return _shares(np.diagonal(self.confusion), self.confusion.sum(axis=0))


def _shares(part: Array, whole: Array) -> Array:
    return np.asarray(np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan))


@dataclass(frozen=True)
class Rival:
    """A simpler way to answer, tested on the same rows."""

    name: str
    score: float
    judgement: str = ""  # whether it is clearly worse, by a paired test; empty if not tested


@dataclass(frozen=True)
class ColumnPicture:
    """A column as it was read, with a small histogram."""

    name: str
    role: str
    kind: str
    missing: int
    distinct: int
    note: str = ""
    counts: list[int] = field(default_factory=list)  # of categories, the commonest
    low: str = ""  # what stands at the ends of the histogram
    high: str = ""


@dataclass(frozen=True)
class Reading:
    """What was read."""

    rows: int
    columns: list[ColumnPicture] = field(default_factory=list)  # none of strings and matrices
    n_columns: int = 0  # how many there are, shown or not
    targets: list[ColumnPicture] = field(default_factory=list)  # values, one for each output
    classes: list[tuple[str, int]] = field(default_factory=list)  # or labels, and their rows
    copies: int | None = None  # rows that repeat another, target included; None if not known
    looked_at: int = 0  # rows among which copies were counted
    groups: tuple[int, int] | None = None  # number of groups, and rows of the largest
    weighted: bool = False
    alarms: list[str] = field(default_factory=list)
    sequences: SequenceReading | None = None  # of strings


@dataclass(frozen=True)
class Effect:
    """Partial dependence: mean predictions where all rows have one value of a column."""

    name: str
    values: list[Any]  # numbers ascending, or the commonest categories
    # mean probabilities, (values, classes), or of two classes of one, (values, 1); or mean values
    predictions: Array
    of: str = ""  # the one of two classes


@dataclass(frozen=True)
class Evidence:
    """What the report shows beside the table of a ranking."""

    reading: Reading
    outcome: Outcome | None = None  # None if there was no time for held-out rows
    # answers that look at no features, and a plain linear model
    rivals: list[Rival] = field(default_factory=list)
    # columns, what the score loses when they are shuffled on held-out rows, and its error
    importance: list[tuple[str, float, float]] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)  # of the most important columns
    # Gram matrix of the winner on a sample, sorted by class or value, with classes and their rows
    gram: Array = field(default_factory=lambda: np.empty((0, 0)))
    blocks: list[tuple[str, int]] = field(default_factory=list)
    map: Array = field(default_factory=lambda: np.empty((0, 2)))  # kernel map of a sample
    # class numbers, or values; of several targets their main direction
    map_colours: Array = field(default_factory=lambda: np.empty(0))
    data: str = ""  # hash of samples and target
    seed: int = 0

    def to_plain(self) -> dict[str, Any]:
        """Return nested plain values; without the pictures of samples (Gram matrix and map)."""
        pictures = ("gram", "blocks", "map", "map_colours")
        plain: dict[str, Any] = _plain({k: v for k, v in asdict(self).items() if k not in pictures})
        return plain


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def gather(
    findings: Findings, delivered: Scored | None, problem: Problem, model: Any, work: Work
) -> Evidence:
    """Return what the report shows beside the table of a ranking.

    What there is no time for, or what Ctrl-C has ended before, is left out.
    """
    task, samples = problem.task, problem.samples
    outcome, importance, effects = None, [], []
    constant, base = task.constant(task.counting)
    rivals = [Rival(base, -task.loss(constant, task.counting))]
    with work.stage("evidence", 3, "what the report shows") as stage, dense_work():
        reading = reading_of(samples, problem.X, task)
        stage(1)
        K, gram, some = picture_rows(findings.best, samples, task)
        places, placed = np.searchsorted(some, gram), kernel_map(K)
        data = fingerprint(samples.views[0], task.y, task.w, task.groups)
        stage(1)
        if delivered is not None:
            outcome = outcome_of(delivered, findings)
            if can_flag(model):
                outcome = replace(outcome, thresholds=threshold_table(model))
    long = LONG * work.seconds["evidence"]
    if findings.result is not None and outcome is not None and not work.skipped:
        with work.stage("importance", 2, "of columns, and a linear model") as stage, dense_work():
            if work.in_time(long):
                rivals += filter(None, [linear_rival(findings.result, findings, samples)])
            stage(1)
            if work.in_time(long):
                importance = importance_of(findings, problem)
            if work.in_time(long):
                effects = effects_of(model, problem, [name for name, *_ in importance[:EFFECTS]])
    return Evidence(
        reading=reading,
        outcome=outcome,
        rivals=rivals,
        importance=importance,
        effects=effects,
        gram=K[np.ix_(places, places)].astype(np.float32),
        blocks=[] if task.strata is None else task.counts(gram),
        map=placed,
        map_colours=np.asarray(task.line[some]),
        data=data,
        seed=task.seed,
    )


def picture_rows(best: Candidate, samples: Samples, task: Task) -> tuple[Array, Array, Array]:
    """Return the winner's Gram matrix of some rows, those drawn as a matrix, and all of them."""
    some = task.sample(MAP_ROWS, salt=6)
    gram = some[replace(task, cv=None).at(some).sample(GRAM_ROWS, salt=5)]
    gram = gram[np.argsort(task.line[gram], kind="stable")]
    return samples.gram(best, some), gram, some


# ---- held-out answers ---------------------------------------------------------------------------


def outcome_of(scored: Scored, findings: Findings) -> Outcome:
    """Return what a held-out record says, in the forms that people know."""
    task, record = findings.task, scored.record
    kept = np.ones(len(record.rows), dtype=bool) if task.w is None else task.w[record.rows] > 0
    f, rows = scored.answer.f[kept], record.rows[kept]
    w = np.ones(len(rows)) if task.w is None else task.w[rows]
    known = Outcome(record.kind, len(np.unique(rows)), weighted=task.w is not None)
    if not isinstance(task, Classes | Labels):
        return replace(known, **_of_values(f, rows, w, task))
    p = None
    if record.machine in CALIBRATED:
        p = task.probabilities(scored.values, record.rows, record.fold)[kept]
    if isinstance(task, Labels):
        return replace(known, **_of_labels(f, p, rows, w, task))
    threshold = scored.threshold(task)
    return replace(known, **_of_classes(f, p, rows, w, task), threshold=threshold)


def _of_classes(f: Array, p: Array | None, rows: Array, w: Array, task: Classes) -> dict[str, Any]:
    """Return confusion, curves, the surest mistakes, and whether probabilities came true.

    For two classes the probabilities of the positive one, for more those of the answer.
    """
    C, y, guess = task.n_classes, task.y[rows], class_of(f)
    names = [name for name, _ in task.counts(rows)]
    curves = _curves(f, y, w, guess, names)
    told: dict[str, Any] = {
        "classes": names,
        "confusion": np.bincount(C * y + guess, w, C * C).reshape(C, C),
        "roc": [roc for roc, _ in curves],
        "precision_recall": [other for _, other in curves],
    }
    if p is None:
        return told
    sure = p[np.arange(len(y)), guess]
    some = sorted(np.flatnonzero(guess != y).tolist(), key=lambda k: -sure[k])[:WORST]
    worst = [(int(rows[k]) + 1, names[y[k]], names[guess[k]], float(sure[k])) for k in some]
    of, said, true = "", p.max(axis=1), p.argmax(axis=1) == y
    if C == 2:
        c = positive_class(names, np.bincount(y, w, C))
        of, said, true = names[c], p[:, c], y == c
    reliability = reliability_of(of, said, true, rows, w, task)
    return told | {"worst": worst, "reliability": reliability}


def _of_labels(f: Array, p: Array | None, rows: Array, w: Array, task: Labels) -> dict[str, Any]:
    """Return labels one by one, curves of the rarest, and whether probabilities came true."""
    y, q, targets = task.y[rows], len(task.names), []
    for k, target in enumerate(_targets(f, rows, task)):
        there, said = y[:, k] == 1, f[:, k] > 0
        hits, total, named = (float(w @ part) for part in (there & said, there, said))
        targets.append(replace(target, found=hits, there=total, said=named))
    both = [k for k in range(q) if 0 < targets[k].there < w.sum()]
    some = sorted(sorted(both, key=lambda k: targets[k].there)[:CURVES])
    curves = [_curve(task.names[k], f[:, k], y[:, k] == 1, f[:, k] > 0, w) for k in some]
    of_all = np.repeat(rows, q), np.repeat(w, q), task
    return {
        "targets": targets,
        "roc": [roc for roc, _ in curves],
        "precision_recall": [other for _, other in curves],
        "reliability": p
        if p is None
        else reliability_of("a label", p.ravel(), y.ravel() == 1, *of_all),
    }


def _targets(f: Array, rows: Array, task: Task) -> list[TargetOutcome]:
    """Return the scores of each output or label."""
    scores = task.column_scores(Answers(f), rows)
    return [TargetOutcome(name, *values) for name, values in scores.items()]


def _of_values(f: Array, rows: Array, w: Array, task: Task) -> dict[str, Any]:
    """Return values and predictions of a sample, the size of errors, and the largest of them."""
    said, true = (task.as_given(v).reshape(len(rows), -1).T for v in (f, task.y[rows]))
    some = _drawn_points(len(rows), task)
    shown: list[dict[str, Any]] = [
        {"errors": _limits(np.abs(p - y), w), "actual": y[some], "predicted": p[some]}
        for p, y in zip(said, true, strict=True)
    ]
    if task.names:
        targets = zip(_targets(f, rows, task), shown, strict=True)
        return {"targets": [replace(target, **known) for target, known in targets]}
    gap = true[0] - said[0]
    worst = [
        (int(rows[k]) + 1, number(float(true[0][k])), number(float(said[0][k])), float(gap[k]))
        for k in np.argsort(-np.abs(gap), kind="stable")[:WORST]
    ]
    return shown[0] | {"worst": worst}


def _drawn_points(n: int, task: Task) -> Array:
    """Return which of n held-out rows are drawn: all of few."""
    if n <= POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng([task.seed, 12]).choice(n, POINTS, replace=False))


def _limits(gap: Array, w: Array) -> dict[str, float]:
    """Return below what half and nine of ten of the absolute errors are, and their mean."""
    half, most = np.quantile(gap, [0.5, 0.9], weights=w, method="inverted_cdf").tolist()
    return {"half": half, "nine of ten": most, "mean": float(np.average(gap, weights=w))}


def _curves(
    f: Array, y: Array, w: Array, guess: Array, names: list[str]
) -> list[tuple[Curve, Curve]]:
    """Return the curves of the positive one of two classes, or of each."""
    total = np.bincount(y, w, len(names))
    tested = np.flatnonzero(total > 0)
    if len(tested) < 2:
        return []
    chosen = tested[np.argsort(total[tested], kind="stable")][:CURVES]
    if len(names) == 2:
        chosen = np.array([positive_class(names, total)])
    both = np.hstack([-f, f]) if f.shape[1] == 1 else f
    values = {c: both[:, c] for c in sorted(chosen.tolist())}
    return [_curve(names[c], v, y == c, guess == c, w) for c, v in values.items()]


def _curve(name: str, values: Array, true: Array, said: Array, w: Array) -> tuple[Curve, Curve]:
    """Return the ROC curve, and that of precision and recall, of some rows against all others."""
    hits, total, named = (float(w @ part) for part in (true & said, true, said))
    share = total / float(w.sum())
    wrong, right, _ = roc_curve(true, values, sample_weight=w)
    used = (named - hits) / (float(w.sum()) - total), hits / total
    roc = Curve(name, *thinned(wrong, right), float(auc(wrong, right)), used, share)
    precision, recall, _ = precision_recall_curve(true, values, sample_weight=w)
    area = float(average_precision_score(true, values, sample_weight=w))
    used = hits / total, hits / named if named > 0 else 1.0
    return roc, Curve(name, *thinned(recall[::-1], precision[::-1]), area, used, share)


def thinned(x: Array, y: Array, most: int = STEPS) -> tuple[Array, Array]:
    """Return a curve of fewer points: one for each step of its way, and both ends."""
    way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    if len(x) <= most or way[-1] == 0:
        return np.round(x, 4), np.round(y, 4)
    keep = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], most)).clip(0, len(x) - 1))
    return np.round(x[keep], 4), np.round(y[keep], 4)


def reliability_of(
    of: str, said: Array, true: Array, rows: Array, w: Array, task: Task
) -> Reliability | None:
    """Return how often probabilities of held-out rows came true; None of too few."""
    parts = binned(said)
    if len(parts) < 2:
        return None
    mean = np.array([np.average(said[part], weights=w[part]) for part in parts])
    share = np.array([np.average(true[part], weights=w[part]) for part in parts])
    total = np.array([w[part].sum() for part in parts])
    # rows of one group are no independent rows
    cluster = task.clusters(rows)
    count = np.array([len(np.unique(cluster[part])) for part in parts])
    low, high = wilson(share, count)
    gap = float(np.average(np.abs(mean - share), weights=total))
    return Reliability(of, mean, share, low, high, gap)


def binned(values: Array, least: int = 15) -> list[Array]:
    """Return places in tenths of 0 to 1, ascending; tenths of few values join their neighbours."""
    tenth = np.minimum((10 * values).astype(int), 9)
    parts: list[Array] = []
    waiting = np.empty(0, dtype=int)
    for k in range(10):
        waiting = np.concatenate([waiting, np.flatnonzero(tenth == k)])
        if len(waiting) >= least:
            parts.append(waiting)
            waiting = waiting[:0]
    if len(waiting) and parts:
        parts[-1] = np.concatenate([parts[-1], waiting])
    return parts


# ---- a plain linear model -----------------------------------------------------------------------


def linear_rival(scored: Scored, findings: Findings, samples: Samples) -> Rival | None:
    """Return the score of a plain linear model in the winner's folds, and a paired test.

    Logistic regression, or ridge regression for values and for several labels. None where there is
    not one table of features.
    """
    task, record, table = findings.task, scored.record, samples.views[0]
    plain = any(c.view == 0 and not isinstance(c.kernel, Precomputed) for c in findings.candidates)
    if samples.several or not plain or getattr(table, "ndim", 1) != 2:
        return None
    table = sp.csr_array(table) if sp.issparse(table) else table
    most = max(400, LINEAR_CELLS // max(table.shape[1], 1))
    rows = _thinned(task.sample(findings.plan.compare_rows, salt=3), most)
    try:
        splits = task.splits(rows, 5)
    except NoFolds:
        return None
    f = np.concatenate([_linear_answers(table, rows[a], rows[b], task) for a, b in splits])
    own = HeldOut.of_folds("linear", f[None], rows, splits, settings=[0.0])
    own = own.at(np.isin(own.rows, record.rows))
    linear = score(own, task)
    gap, chance = compared(linear, scored, task)
    judgement = "about as good" if chance > LEVEL else "clearly worse" if gap > 0 else "better"
    return Rival(task.linear, -linear.loss, judgement)


def _thinned(rows: Array, most: int) -> Array:
    """Return at most so many of some rows, evenly spread."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]


def _linear_answers(table: Any, train: Array, test: Array, task: Task) -> Array:
    """Return what a linear model that was fitted to some rows says of others, (m, q)."""
    train = train[task.weights[train] > 0]
    lone = task.lone(train, len(test))
    if lone is not None:
        return lone.f
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = task.linear_model()
        machine.fit(table[train], task.labels[train], sample_weight=task.weights[train])
    return task.decision_values(machine, table[test], train)


# ---- columns ------------------------------------------------------------------------------------


def column_names(candidate: Candidate, samples: Samples) -> tuple[list[str], Array] | None:
    """Return the names of the columns behind a candidate's features, and the column of each."""
    X, encoder = samples.views[candidate.view], samples.encoder(candidate)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or not 2 <= X.shape[1] <= WIDE:
        return None
    if not isinstance(encoder, TableEncoder):
        return None
    return encoder.column_names(), encoder.sources()


def importance_of(findings: Findings, problem: Problem) -> list[tuple[str, float, float]]:
    """Return columns, what the score loses when each is shuffled, and its error; most first.

    Of many columns all are shuffled once on a few rows, and those that lose most again.
    """
    members = [
        (
            w,
            findings.candidates[i],
            findings.results[i],
            column_names(findings.candidates[i], problem.samples),
        )
        for i, w in findings.chosen.items()
        if i in findings.results
    ]
    if not members or any(known is None for *_, known in members):
        return []
    names, source = members[0][-1] or ([], np.empty(0))
    shown = [names[j] for j in np.unique(source)]
    lost: dict[str, tuple[float, float]] = {}
    if len(shown) > MOST_SHUFFLED:
        lost = _shuffle(findings, problem, members, shown, FEW_SHUFFLED_ROWS, 1)
        shown = sorted(shown, key=lambda name: -lost.get(name, (0.0, 0.0))[0])[:MOST_SHUFFLED]
    lost |= _shuffle(findings, problem, members, shown, SHUFFLED_ROWS, 5)
    return sorted(((name, *pair) for name, pair in lost.items()), key=lambda item: -item[1])


def _shuffle(
    findings: Findings,
    problem: Problem,
    members: Sequence[Any],
    shown: list[str],
    size: int,
    most: int,
) -> dict[str, tuple[float, float]]:
    """Return what the score loses when columns are shuffled on some held-out rows, and its error.

    What is delivered, all machines of an average with their regularisers and the threshold, is
    fitted in folds; the test rows are answered as they are and with one column taken from other
    rows. All features that a column was encoded as, in every view, are shuffled together. The error
    is that of the paired difference, by groups where there are groups, and of the shuffling.
    """
    task, samples = problem.task, problem.samples
    rows = task.sample(size, salt=11)
    rows = rows[task.weights[rows] > 0]
    repeats = int(np.clip(SHUFFLED_ROWS // len(rows), min(most, 2), most))
    rng = np.random.default_rng([task.seed, 11])
    orders = [rng.permutation(len(rows)) for _ in range(repeats)]
    try:
        splits = task.splits(rows, 5)
    except NoFolds:
        return {}
    if task.periods is not None:  # values of other times would be what no row of a period has
        for o in orders:
            for _, test in splits:
                o[test] = test[rng.permutation(len(test))]
    values: Any = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for weight, candidate, result, (names, source) in members:
            X, kernel = samples.views[candidate.view], candidate.kernel
            # columns that a view does without change nothing
            place = {name: number for number, name in enumerate(names)}
            columns = [np.flatnonzero(source == place.get(name, -1)) for name in shown]
            setting, parts = np.array([result.setting]), []
            for train, test in splits:
                A, B = X[rows[train]], X[rows[test]]
                K = kernel(A, A)
                tests = [B, *(_shuffled(B, X, rows[o[test]], c) for c in columns for o in orders)]
                cross = np.concatenate([kernel(T, A) for T in tests])
                f = fold_values(0.5 * (K + K.T), rows[train], cross, setting, problem)[0]
                parts.append(f.reshape(len(tests), len(test), -1))
            values = values + weight * np.concatenate(parts, axis=1)
    tested = rows[np.concatenate([test for _, test in splits])]
    cut = 0.0 if findings.result is None else findings.result.threshold(task)
    fitted = task.calibration(values[0], tested) if task.score.by_probability else None

    def answers(f: Array) -> Answers:
        return Answers(f - cut, None if fitted is None else fitted(f))

    plain, lost = answers(values[0]), {}
    for k, name in enumerate(shown):
        places = range(1 + k * repeats, 1 + (k + 1) * repeats)
        pairs = [task.difference(answers(values[p]), plain, tested) for p in places]
        gaps = np.array([gap for gap, _ in pairs])
        # of the rows, which all shuffles share, and of the shuffling
        shuffling = gaps.var(ddof=1) / repeats if repeats > 1 else 0.0
        error = np.sqrt(np.mean([e**2 for _, e in pairs]) + shuffling)
        lost[name] = float(gaps.mean()), float(error)
    return lost


def _shuffled(B: Array, X: Array, others: Array, columns: Array) -> Array:
    """Return test rows with some columns taken from other rows."""
    mixed = B.copy()
    mixed[:, columns] = X[others][:, columns]
    return mixed


def effects_of(model: Any, problem: Problem, names: list[str]) -> list[Effect]:
    """Return how mean predictions change with some columns of a data frame or an array."""
    X, task, effects = problem.X, problem.task, []
    frame = hasattr(X, "isetitem")
    predict = getattr(model, "predict" if task.classes is None else "predict_proba", None)
    table = isinstance(X, np.ndarray) and X.ndim == 2
    if predict is None or task.names or not (frame or table):
        return []
    c, of = None, ""
    if task.classes is not None and len(task.classes) == 2:
        c = positive_class(task.classes, np.bincount(task.y, task.weights, 2))
        of = str(task.classes[c])
    rows = task.sample(EFFECT_ROWS, salt=13)
    places = {column.name: j for j, column in enumerate(problem.samples.columns)}
    for name in names:
        j = places[name]
        column, counting = problem.samples.columns[j], task.counting
        shown, few = effect_values(column, X.iloc[counting, j] if frame else X[counting, j])
        chosen = counting[few]
        tiled, values = np.tile(rows, len(chosen)), np.repeat(chosen, len(rows))
        changed = X.take(tiled) if frame else X[tiled]
        if frame:
            changed.isetitem(j, X.iloc[:, j].take(values).array)
        else:
            changed[:, j] = X[values, j]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about the column was said in fit
            answers = np.asarray(predict(changed), dtype=float)
        means = answers.reshape(len(chosen), len(rows), -1).mean(axis=1)
        effects.append(Effect(name, shown, means if c is None else means[:, [c]], of))
    return effects


def effect_values(column: Column, cells: Any) -> tuple[list[Any], list[int]]:
    """Return some values of a column, numbers or days spread over it or its commonest words."""
    raw = plain(cells, column.name) if hasattr(cells, "array") else Cells(cells)
    if column.kind in ("number", "date"):
        numbers = typed(column.name, raw.values, column.kind, column.style, column.sentinel)
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        few = order[(np.linspace(0.02, 0.98, EFFECT_VALUES) * (len(order) - 1)).astype(int)]
        shown = list(map(_day, numbers[few])) if column.kind == "date" else numbers[few].tolist()
        return shown, few.tolist()
    known = np.flatnonzero(~missing_cells(raw.values))
    words = np.array([str(value) for value in raw.values[known]])
    levels, first, counts = np.unique(words, return_index=True, return_counts=True)
    some = np.argsort(-counts, kind="stable")[:EFFECT_VALUES]
    return levels[some].tolist(), known[first[some]].tolist()


# ---- what was read ------------------------------------------------------------------------------


def reading_of(samples: Samples, X: Any, task: Task) -> Reading:
    """Return what was read: columns with small histograms, classes, copies, groups, alarms."""
    pictures: list[ColumnPicture] = []
    alarms: list[str] = []
    for column, raw in _raw_columns(samples, X):
        whole = len(raw.values) == task.n
        raw = raw.at(task.counting) if whole else raw  # rows of weight zero are dropped
        pictures.append(picture_of(column, raw))
        if column.role == "input" and whole:
            labels = task.labels[task.counting].reshape(len(task.counting), -1).T
            copied = [copy_of_target(column.name, raw, target) for target in labels]
            alarms += filter(None, dict.fromkeys(copied))
    copies, looked_at = count_copies(samples, task)
    groups = None
    if task.groups is not None:
        sizes = np.unique(task.groups, return_counts=True)[1]
        groups = len(sizes), int(sizes.max())
    targets, classes = [], task.counts(slice(None))
    if not classes:
        values = task.labels.reshape(task.n, -1).T
        for name, y in zip(task.names or ("target",), values, strict=True):
            column = Column(name, "target", "number", 0, len(np.unique(y)), "")
            targets.append(picture_of(column, Cells(y)))
    return Reading(
        rows=task.n,
        sequences=sequences_of(
            samples.views[0],
            task.counting,
            task.strata,
            [name for name, _ in classes],
        ),
        columns=pictures,
        n_columns=len(samples.columns) or samples.n_features or 0,
        targets=targets,
        classes=classes,
        copies=copies,
        looked_at=looked_at,
        groups=groups,
        weighted=task.w is not None,
        alarms=alarms,
    )


def _raw_columns(samples: Samples, X: Any) -> Iterator[tuple[Column, Cells]]:
    """Yield what each column is, with its values; of many rows, some of them."""
    if X is None or samples.several or not samples.columns:
        return
    frame = frame_columns(X)
    table = None if frame is not None else np.asarray(X, dtype=float)
    n = len(X) if table is None or table.ndim != 2 else len(table)
    step = max(1, n // PICTURE_ROWS)
    values = table.T if frame is None and table is not None else (frame or {}).values()
    for column, cells in list(zip(samples.columns, values, strict=False))[:PICTURES]:
        yield (
            column,
            Cells(cells[::step]) if frame is None else plain(cells[::step], column.name),
        )


def picture_of(column: Column, raw: Cells) -> ColumnPicture:
    """Return a column with a small histogram: of numbers, dates and lengths; of categories, counts.

    Far outliers are counted in the outermost bins.
    """
    known = ColumnPicture(
        column.name, column.role, column.kind, column.missing, column.distinct, column.note
    )
    present = raw.values[~missing_cells(raw.values)]
    if not len(present) or column.kind in ("id", "constant", "drop"):
        return known
    if column.kind in ("category", "ordered", "boolean"):
        shown_as = typed(column.name, present, "category").astype(str)
        words, counts = np.unique(shown_as, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:BINS]
        return replace(known, counts=counts[order].tolist(), low=str(words[order[0]]))
    shown: Callable[[float], str]
    if column.kind in ("text", "sequence"):
        numbers = np.array([len(str(word)) for word in present], dtype=float)
        shown = "{:.0f} letters".format
    else:
        kind = "date" if column.kind == "date" else "number"
        numbers = typed(column.name, present, kind, column.style, column.sentinel)
        shown = _day if kind == "date" else number
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return known
    low, high = (shown(float(value)) for value in (numbers.min(), numbers.max()))
    return replace(known, counts=histogram(numbers), low=low, high=high)


def _day(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


def histogram(values: Array) -> list[int]:
    """Return counts in equal bins; far outliers are counted in the outermost."""
    low, high = without_outliers(values)
    if not high > low:
        return [len(values)]
    counts = np.histogram(np.clip(values, low, high), BINS, (low, high))[0]
    return list(map(int, counts))

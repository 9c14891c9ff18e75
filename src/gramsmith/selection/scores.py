"""Scores of held-out answers: where a score is a function of sums over samples, of these sums.

Such sums make every bag, fold and jackknife cheap, and the jackknife of a ratio deletes samples
from numerator and denominator together. All other scores are computed by scikit-learn.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, get_scorer_names

from gramsmith.arguments import abridged
from gramsmith.report.words import listed

Array = npt.NDArray[Any]

# Of two classes these ask which of them counts.
OF_ONE_CLASS = ("f1", "precision", "recall", "jaccard", "average_precision")
POSITIVE = ("1", "1.0", "yes", "true", "positive")  # labels of a class that is to be found
# What each makes of true positives, answers and members of a class: numerator, denominator.
OF_COUNTS: dict[str, Callable[[Array, Array, Array], tuple[Array, Array]]] = {
    "f1": lambda tp, said, true: (2 * tp, said + true),
    "precision": lambda tp, said, true: (tp, said),
    "recall": lambda tp, said, true: (tp, true),
    "jaccard": lambda tp, said, true: (tp, said + true - tp),
}
AVERAGES = ("macro", "micro", "weighted")
# Powers of the absolute error whose mean, and perhaps its root, is the score of values.
ERRORS = {
    "neg_mean_absolute_error": 1,
    "neg_mean_squared_error": 2,
    "neg_root_mean_squared_error": 2,
}
OF_VALUES = (
    *("r2", "explained_variance", "d2_absolute", "neg_mean_", "neg_median_"),
    *("neg_root_", "neg_max_"),
)
SHARES = ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "label accuracy")
INSTEAD = {"roc_auc": "roc_auc_ovr", "average_precision": "roc_auc_ovr"}


@dataclass(frozen=True)
class Answers:
    """What is said of m samples: decision values or predictions, one column per target."""

    f: Array  # (m, q)
    p: Array | None = None  # probabilities (m, C) or (m, labels), where the score asks for them

    def at(self, places: Array) -> Answers:
        """Return the answers for some of the samples."""
        return Answers(self.f[places], None if self.p is None else self.p[places])


def ratio(top: Array, bottom: Array, otherwise: float) -> Array:
    """Return a quotient, and something else where there is nothing to divide by."""
    there = bottom > 1e-12
    return np.asarray(np.where(there, top / np.where(there, bottom, 1.0), otherwise))


def named_scorer(name: str) -> Any:
    """Return the scorer of a name, or raise a ValueError that offers those most like it."""
    names = get_scorer_names()
    if name not in names:
        near = difflib.get_close_matches(name[:200].lower(), names, 3, 0.5)
        advice = "Use a name such as accuracy, f1 or r2, or a function."
        if near:
            advice = f"Perhaps {listed([repr(n) for n in near], 'or')}."
        raise ValueError(f"Expected the name of a score, got {abridged(name)}. {advice}")
    return get_scorer(name)


class Score:
    """A score of answers: the default of a kind of target, or one of scikit-learn's."""

    default = ""
    usual = ""  # what to use where another does not fit
    counted = False  # whether it is a function of one confusion matrix

    def __init__(self, scoring: Any, weighted: bool) -> None:
        self.is_default = scoring is None or (isinstance(scoring, str) and scoring == self.default)
        self.by_probability = self.by_label = False  # found out by a trial
        self.weighted = True  # whether it takes weights
        self.name = self.default if self.is_default else scoring
        self.call: Any = None
        if self.is_default:
            self.by_label = True
            return
        self.call = named_scorer(scoring) if isinstance(scoring, str) else scoring
        if not isinstance(scoring, str):
            self.name = getattr(scoring, "__name__", "score")
        self._try_out(weighted)

    # ---- what kinds of targets differ in ---------------------------------------------------------

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        raise NotImplementedError

    def parts(self, answers: Answers, y: Array, w: Array) -> Array | None:
        """Return what every sample adds to the sums of `of_sums`, (m, s); None for other scores."""
        raise NotImplementedError

    def of_sums(self, sums: Array) -> Array:
        """Return the score of sums of `parts`, shape (..., s)."""
        raise NotImplementedError

    def given(self, answers: Answers, y: Array) -> tuple[Any, Array, Array]:
        """Return an estimator that gives the answers, its input and the truth, for scikit-learn."""
        raise NotImplementedError

    def example(self) -> tuple[Answers, Array]:
        """Return answers and targets that any such score can be tried on."""
        raise NotImplementedError

    def advice(self) -> str:
        """Return what to do where the score does not fit."""
        return f"Use a score of {self.usual}."

    # ---- shared ---------------------------------------------------------------------------------

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value there can be."""
        low = -np.inf
        if self.name in SHARES or self.name.partition("_")[0] in OF_COUNTS:
            low = 0.0
        known = low == 0.0 or self.name in ("r2", "explained_variance")
        return low, 1.0 if known else 0.0 if self.name.startswith("neg_") else np.inf

    @property
    def is_share(self) -> bool:
        """Whether it is the share of right answers."""
        return self.is_default and self.default in SHARES

    @property
    def best(self) -> float | None:
        """The best score there can be, if that is known."""
        high = self.range[1]
        return high if np.isfinite(high) else None

    def value(self, answers: Answers, y: Array, w: Array | None = None) -> float:
        """Return the score that scikit-learn computes of answers."""
        estimator, X, truth = self.given(answers, y)
        if w is None or not self.weighted or not w.any():
            value = float(self.call(estimator, X, truth))
        else:
            value = float(self.call(estimator, X, truth, sample_weight=w))
        self.by_probability |= "predict_proba" in estimator.asked
        self.by_label |= "predict" in estimator.asked
        return value

    def _try_out(self, weighted: bool) -> None:
        """Raise a ValueError, before any work, unless the score can be computed for such targets.

        A score that takes no weights is used without, with a warning if there are any.
        """
        answers, y = self.example()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.value(answers, y)
                if not isinstance(self, ValueScore) and self.name.startswith(OF_VALUES):
                    raise ValueError(f"{self.name} compares numbers")
            except Exception as error:  # whatever a scorer of the user's may raise
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise ValueError(
                    f"Expected a score for {self.of}, got {self.name!r}, which fails: "
                    f"{reason.rstrip('.')}. {self.advice()}"
                ) from error
            try:
                self.value(answers, y, np.ones(len(y)))
            except Exception:
                self.weighted = False
        if weighted and not self.weighted:
            warnings.warn(
                f"The score {self.name!r} takes no sample_weight: weights count in training, "
                "but not in the comparison.",
                UserWarning,
                stacklevel=5,
            )


class _Given(BaseEstimator):
    """An estimator that returns what it is given, and remembers what it was asked for."""

    def __init__(self, classes: Any = None, p: Any = None) -> None:
        self.p = p
        self.asked: set[str] = set()
        if classes is not None:
            self.classes_ = classes

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _GivenValues(RegressorMixin, _Given):
    def predict(self, X: Any) -> Array:
        return np.asarray(X)


class _GivenClasses(ClassifierMixin, _Given):
    def decision_function(self, X: Any) -> Array:
        return np.asarray(X)

    def predict_proba(self, X: Any) -> Array:
        self.asked.add("predict_proba")
        return np.asarray(self.p)

    def predict(self, X: Any) -> Array:
        self.asked.add("predict")
        f = np.asarray(X)
        code = (f > 0.0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[code])


class _GivenLabels(_GivenClasses):
    def predict(self, X: Any) -> Array:
        self.asked.add("predict")
        return (np.asarray(X) > 0.0).astype(int)


class ValueScore(Score):
    """A score of values, which come in units of their deviation, shape (m, q)."""

    default = "r2"
    usual = 'values, such as "neg_mean_absolute_error"'

    def __init__(self, scoring: Any, weighted: bool, unit: Array, centre: Any = 0.0) -> None:
        self.unit, self.centre = unit, centre  # squares of values far from zero would lose digits
        super().__init__(scoring, weighted)

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        return f"{len(self.unit)} outputs" if len(self.unit) > 1 else "values"

    def parts(self, answers: Answers, y: Array, w: Array) -> Array | None:
        """Return squared errors, values and their squares; or powers of errors; and weights."""
        W = w[:, None]
        gap = answers.f - y
        if self.is_default:
            apart = y - self.centre
            return np.hstack([W * gap**2, W * apart, W * apart**2, W])
        if self.name not in ERRORS or not isinstance(self.name, str):
            return None
        return np.hstack([W * np.abs(gap * self.unit) ** ERRORS[self.name], W])

    def of_sums(self, sums: Array) -> Array:
        """Return R², or the negative mean of errors, averaged over the outputs."""
        w = sums[..., -1:]
        if self.is_default:
            squared, first, second = np.split(sums[..., :-1], 3, axis=-1)
            scatter = second - ratio(first**2, w, 0.0)
            return np.asarray(1.0 - ratio(squared, scatter, np.nan).mean(axis=-1))
        mean = ratio(sums[..., :-1], w, np.nan)
        return np.asarray(-(np.sqrt(mean) if "root" in self.name else mean).mean(axis=-1))

    def given(self, answers: Answers, y: Array) -> tuple[Any, Array, Array]:
        """Return predictions and values in the units of the user."""
        f, truth = answers.f * self.unit, y * self.unit
        if len(self.unit) == 1:
            f, truth = f[:, 0], truth[:, 0]
        return _GivenValues(), f, truth

    def example(self) -> tuple[Answers, Array]:
        """Return predictions and values that any such score can be tried on."""
        y = np.arange(1.0, 7.0)
        times = np.arange(1.0, 1.0 + len(self.unit)) / self.unit
        return Answers((y + 0.1 * np.cos(y))[:, None] * times), y[:, None] * times


def positive_class(classes: Any, counts: Any) -> int:
    """Return which of two classes is to be found: 1, yes or true, else the rarer.

    Of equally frequent ones it is the second, as in scikit-learn.
    """
    words = [str(label).casefold() for label in classes]
    named = [k for k, word in enumerate(words) if word in POSITIVE]
    return named[0] if len(named) == 1 else int(counts[1] <= counts[0])


class ClassScore(Score):
    """A score of classes by their numbers, shape (m,); the positive class is decided here, once.

    Where a score counts one of two classes, `positive_class` says which.
    """

    default = "accuracy"
    usual = 'classes, such as "balanced_accuracy"'

    def __init__(self, scoring: Any, weighted: bool, classes: Array, counts: Array) -> None:
        self.classes, self.positive = classes, 1
        if len(classes) == 2 and isinstance(scoring, str) and scoring in OF_ONE_CLASS:
            self.positive = positive_class(classes, counts)
            self.classes = np.array([0, 1]) if self.positive else np.array([1, 0])
        base, _, self.mean = str(scoring).partition("_")
        known = scoring == "balanced_accuracy" or (
            base in OF_COUNTS and (self.mean in AVERAGES or (not self.mean and len(classes) == 2))
        )
        self.counted = isinstance(scoring, str) and known
        self.of_ranks = isinstance(scoring, str) and scoring == "roc_auc" and len(classes) == 2
        super().__init__(scoring, weighted)

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        return f"{len(self.classes)} classes"

    @property
    def by_threshold(self) -> bool:
        """Whether a threshold other than zero may serve it better."""
        plain = self.is_default or self.by_probability or not self.by_label
        return len(self.classes) == 2 and not plain

    def parts(self, answers: Answers, y: Array, w: Array) -> Array | None:
        """Return right answers, answers and members of every class; or logarithms; with weights."""
        W, C = w[:, None], len(self.classes)
        if self.is_default:
            return np.hstack([W * (class_of(answers.f) == y)[:, None], W])
        if self.name == "neg_log_loss" and answers.p is not None:
            p = answers.p[np.arange(len(y)), y]
            return np.hstack([W * np.log(np.clip(p, np.finfo(float).eps, 1.0))[:, None], W])
        if not self.counted:
            return None
        said, true = (code[:, None] == np.arange(C) for code in (class_of(answers.f), y))
        return np.hstack([W * (said & true), W * said, W * true])

    def of_sums(self, sums: Array) -> Array:
        """Return the score of one weighted confusion matrix, as sums for every class."""
        if not self.counted:
            return ratio(sums[..., 0], sums[..., 1], np.nan)
        tp, said, true = np.split(sums, 3, axis=-1)
        if self.name == "balanced_accuracy":
            tested = np.count_nonzero(true > 1e-12, axis=-1)
            return np.asarray(ratio(tp, true, 0.0).sum(axis=-1) / np.maximum(tested, 1))
        formula = OF_COUNTS[self.name.partition("_")[0]]
        if self.mean == "micro":
            tp, said, true = (part.sum(axis=-1, keepdims=True) for part in (tp, said, true))
        values = ratio(*formula(tp, said, true), 0.0)
        if not self.mean:
            return np.asarray(values[..., self.positive])
        if self.mean == "weighted":
            return ratio((values * true).sum(axis=-1), true.sum(axis=-1), np.nan)
        there = said + true > 1e-12
        return ratio((values * there).sum(axis=-1), there.sum(axis=-1).astype(float), np.nan)

    def value(self, answers: Answers, y: Array, w: Array | None = None) -> float:
        """Return the score; the area under the ROC curve of two classes from ranks.

        A ranking asks for it twenty thousand times, and scikit-learn's checks of its arguments
        take a hundred times as long as the area: of 300 rows 29 s instead of 2.
        """
        if not self.of_ranks:
            return super().value(answers, y, w)
        return area_under_roc(answers.f[:, 0], y == 1, w if w is not None and w.any() else None)

    def given(self, answers: Answers, y: Array) -> tuple[Any, Array, Array]:
        """Return decision values as scikit-learn has them, and labels."""
        f = answers.f[:, 0] if answers.f.shape[1] == 1 else answers.f
        return _GivenClasses(self.classes, answers.p), f, self.classes[y]

    def example(self) -> tuple[Answers, Array]:
        """Return answers and classes that any such score can be tried on."""
        C = len(self.classes)
        y = np.arange(C).repeat(3)
        F = 2.0 * np.eye(C)[y] - 1.0 + 0.1 * np.cos(np.arange(len(y)))[:, None]
        return Answers(F if C > 2 else F[:, 1:], 0.7 * np.eye(C)[y] + 0.3 / C), y

    def advice(self) -> str:
        """Return what to do where the score does not fit."""
        if len(self.classes) > 2 and self.name in (*OF_ONE_CLASS, *INSTEAD):
            return f'Use "{INSTEAD.get(self.name, f"{self.name}_macro")}".'
        return super().advice()


class LabelScore(Score):
    """A score of several labels of 0 and 1, shape (m, labels)."""

    default = "label accuracy"
    usual = 'labels, such as "f1_macro"'

    def __init__(self, scoring: Any, weighted: bool, n_labels: int) -> None:
        self.n_labels = n_labels
        super().__init__(scoring, weighted)

    @property
    def of(self) -> str:
        """What it is a score of, in words."""
        return f"{self.n_labels} labels"

    def parts(self, answers: Answers, y: Array, w: Array) -> Array | None:
        """Return the share of the labels that are right, and weights."""
        if not self.is_default:
            return None
        right = ((answers.f > 0) == y).mean(axis=1)
        return np.column_stack([w * right, w])

    def of_sums(self, sums: Array) -> Array:
        """Return the mean accuracy of the labels."""
        return ratio(sums[..., 0], sums[..., 1], np.nan)

    def given(self, answers: Answers, y: Array) -> tuple[Any, Array, Array]:
        """Return decision values and labels as they are."""
        both = np.tile(np.array([0, 1]), (self.n_labels, 1))
        return _GivenLabels(both, answers.p), answers.f, y

    def value(self, answers: Answers, y: Array, w: Array | None = None) -> float:
        """Return the score; rows without a label count as they are."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            # scores of one probability distribution per row do not know labels
            warnings.filterwarnings("error", ".*do not sum to one")
            return super().value(answers, y, w)

    def example(self) -> tuple[Answers, Array]:
        """Return answers and labels that any such score can be tried on."""
        y = (np.arange(6)[:, None] + np.arange(self.n_labels)) % 3 % 2
        return Answers(2.0 * y - 1.0, 0.2 + 0.6 * y), y


def class_of(f: Array) -> Array:
    """Return the class numbers that decision values (m, 1) or (m, C) stand for."""
    return np.asarray((f[:, 0] > 0).astype(int) if f.shape[1] == 1 else f.argmax(axis=1))


def area_under_roc(f: Array, positive: Array, w: Array | None = None) -> float:
    """Return the weight of pairs of a positive and a negative sample in the right order.

    Equal values count half; NaN if a class is absent.
    """
    place = np.unique(f, return_inverse=True)[1]
    weight = np.ones(len(f)) if w is None else w
    pos, neg = (np.bincount(place, weight * side) for side in (positive, ~positive))
    pairs = pos.sum() * neg.sum()
    right = pos @ (np.cumsum(neg) - 0.5 * neg)
    return float(right / pairs) if pairs > 0.0 else float("nan")

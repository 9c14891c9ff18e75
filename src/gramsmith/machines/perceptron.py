"""The kernel perceptron: mistakes are the model."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from gramsmith.arguments import check_params
from gramsmith.kernels.finite import as_stored
from gramsmith.machines.base import KernelClassifier, Training
from gramsmith.parameters import with_parameters
from gramsmith.solvers import Outcome, warn_unless_converged
from gramsmith.targets import as_labels

Array = npt.NDArray[Any]


def _has_samples(machine: Any) -> bool:
    if not machine._is_pairwise():
        return True
    raise AttributeError(
        "Expected samples for partial_fit, got a precomputed kernel, whose matrix would have to "
        "grow. Use fit, or pass the kernel itself."
    )


@with_parameters
class KernelPerceptron(KernelClassifier):
    r"""The dual perceptron.

    .. math:: \text{if } y_i \sum_j a_j y_j k(x_j, x_i) \le 0: \quad a_i \leftarrow a_i + 1

    sample after sample, until a whole pass makes no mistake. With several classes a mistake moves
    the true class up and the one predicted down. There is no bias; add ``gs.Constant(1.0)`` to the
    kernel for one. The averaged perceptron predicts with the mean of all coefficients on the way,
    and is the better choice where the classes overlap. It takes no `sample_weight`: what a repeated
    row changes depends on where in the order it stands, so that a weight would not mean repetition.

    Parameters
    ----------
    max_iter : int, default=100
        Most passes over the samples in `fit`.
    average : bool, default=False
        Whether to predict with the mean of the coefficients.
    shuffle : bool, default=False
        Whether each pass takes the samples in another order.

    Attributes
    ----------
    n_iter_ : int
        Passes made.
    mistakes_ : int
        Mistakes in the last pass.
    support_ : int array of shape (n_support,)
        Training samples on which a mistake was made, numbered over all calls of `partial_fit`.
    coefficients_ : array of shape (n_support, 1) or (n_support, n_classes)
        Their coefficients, averaged if asked for.
    last_coefficients_ : array of shape (n_support, 1) or (n_support, n_classes)
        Where the next `partial_fit` goes on.
    moment_coefficients_ : array of shape (n_support, 1) or (n_support, n_classes)
        Every change times the step at which it came, from which the average follows.
    steps_ : int
        Samples looked at.

    Examples
    --------
    >>> import gramsmith as gs
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["even", "even", "odd", "odd"]
    >>> machine = gs.KernelPerceptron(gs.Polynomial(2)).fit(X, y)
    >>> machine.predict(X)
    array(['even', 'even', 'odd', 'odd'], dtype='<U4')
    """

    _stored: ClassVar[dict[str, str]] = {
        "n_iter_": "whole",
        "mistakes_": "whole",
        "steps_": "whole",
        "last_coefficients_": "array s t",
        "moment_coefficients_": "array s t",
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "average": ["boolean"],
        "shuffle": ["boolean"],
    }

    max_iter: int = 100
    average: bool = False
    shuffle: bool = False
    random_state: Any = None
    verbose: bool = False

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Fit the estimator from the start to samples X and their labels y."""
        return super().fit(X, y)

    def _fit(self, train: Training) -> None:
        K = self._dense(train, "Use partial_fit on parts of the samples.")
        rng = check_random_state(self.random_state)
        batch = _Batch(train.n, self._n_outputs)
        order = np.arange(train.n)
        self.n_iter_, self.mistakes_ = 0, 1
        while self.mistakes_ and self.n_iter_ < self.max_iter:
            if self.shuffle:
                rng.shuffle(order)
            self.mistakes_ = batch.run(K, K @ batch.A, train.y, order)
            self.n_iter_ += 1
            self._say(f"pass {self.n_iter_}: {self.mistakes_} mistakes")
        self.steps_ = batch.step
        used = np.flatnonzero(np.any(batch.A != 0, axis=1) | np.any(batch.moment != 0, axis=1))
        self._keep(train, np.zeros((len(used), batch.A.shape[1])), 0.0, used)
        self._set(batch.A[used], batch.moment[used])
        if self.mistakes_:
            advice = "Raise max_iter, narrow the kernel, or take average=True if classes overlap."
            outcome = Outcome(status="max_iter", advice=advice, n_iter=self.n_iter_)
            warn_unless_converged(
                outcome, f"KernelPerceptron ({self.mistakes_} mistakes in a pass)"
            )

    @available_if(_has_samples)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> KernelPerceptron:
        """Make one pass over more samples.

        Parameters
        ----------
        X : array of shape (n, p) or sequence of n objects
            More training samples; not for precomputed kernels.
        y : array of shape (n,)
            Class labels.
        classes : array of shape (n_classes,), optional
            All labels that will ever come; needed in the first call unless `y` has them all.

        Returns
        -------
        KernelPerceptron
        """
        check_params(self)
        first = not hasattr(self, "classes_")
        X, labels = self._check_pair(X, y, reset=first)
        check_classification_targets(labels)
        known = np.unique(labels if classes is None else as_labels(classes))
        if not first and classes is not None and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"KernelPerceptron: expected the classes of the first call, "
                f"{self.classes_.tolist()}, got {known.tolist()}. "
                "Leave classes out, or start again with fit."
            )
        known = known if first else self.classes_
        if len(known) < 2:
            raise ValueError(
                f"KernelPerceptron: expected at least two classes, got one class only: "
                f"{known.tolist()[0]!r}. Name all classes in classes=."
            )
        strange = labels[~np.isin(labels, known)]
        if len(strange):
            raise ValueError(
                f"KernelPerceptron: expected labels out of {known.tolist()}, got the new class "
                f"{strange.tolist()[0]!r}. Name all classes in the first call of partial_fit."
            )
        if first:
            self._set_kernel(X, None)
            self.classes_ = known
            self.n_samples_fit_, self.steps_, self.n_iter_ = 0, 0, 0
            self.support_, self.support_samples_ = np.empty(0, dtype=np.intp), X[:0]
            self.intercept_, empty = np.zeros(1), np.zeros((0, self._n_outputs))
            self._set(empty, empty)
        self._pass(as_stored(X, self.support_samples_), np.searchsorted(self.classes_, labels))
        return self

    def _pass(self, X: Any, codes: Array) -> None:
        """Look at more samples, and keep those on which mistakes were made."""
        n, kept = len(codes), self.support_samples_
        batch = _Batch(n, self._n_outputs, self.steps_)
        F = self._on_blocks(X, lambda K: K @ self.last_coefficients_)
        self._check_memory(n, "Pass fewer samples at a time.")
        self.mistakes_ = batch.run(self._gram(X).toarray(), F, codes, np.arange(n))
        used = np.flatnonzero(np.any(batch.A != 0, axis=1))
        self.support_ = np.concatenate([self.support_, self.n_samples_fit_ + used])
        stack = sp.vstack if sp.issparse(kept) else np.concatenate
        self.support_samples_ = stack([kept, X[used]]) if kept.shape[0] else X[used]
        self.n_samples_fit_ += n
        self.steps_, self.n_iter_ = batch.step, self.n_iter_ + 1
        self._set(
            np.vstack([self.last_coefficients_, batch.A[used]]),
            np.vstack([self.moment_coefficients_, batch.moment[used]]),
        )

    def _set(self, A: Array, moment: Array) -> None:
        self.last_coefficients_, self.moment_coefficients_ = A, moment
        # A change at step s counts in the average from s on: mean = A - Σ s ΔA / steps.
        mean = A - moment / max(self.steps_, 1)
        self.coefficients_ = np.ascontiguousarray(mean if self.average else A)


class _Batch:
    """Coefficients of samples that are looked at together, and the number of those seen so far."""

    def __init__(self, n: int, outputs: int, step: int = 0) -> None:
        self.A, self.moment, self.step = np.zeros((n, outputs)), np.zeros((n, outputs)), step

    def run(self, K: Array, F: Array, codes: Array, order: Array) -> int:
        """Look at every sample once; F holds the values of the batch and is kept up to date."""
        mistakes = 0
        for i in order:
            change = _correction(F[i], codes[i])
            if change is not None:
                mistakes += 1
                self.A[i] += change
                self.moment[i] += self.step * change
                F += np.outer(K[i], change)
            self.step += 1
        return mistakes


def _correction(f: Array, code: int) -> Array | None:
    """Return what is added to the coefficients of a sample with values f, None if it is right."""
    if len(f) == 1:
        y = 2.0 * code - 1.0
        return np.array([y]) if y * f[0] <= 0 else None
    rival = int(np.argmax(np.where(np.arange(len(f)) == code, -np.inf, f)))
    if f[code] > f[rival]:
        return None
    change = np.zeros(len(f))
    change[code], change[rival] = 1.0, -1.0
    return change

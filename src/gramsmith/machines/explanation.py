"""Explanations: the training rows and the columns that an answer rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gramsmith.arguments import abridged, is_whole
from gramsmith.solvers.definite import Definite

Array = npt.NDArray[Any]

BACKGROUND = 40  # training rows whose values take the place of those of the row


@dataclass(frozen=True, eq=False)
class RowExplanation:
    r"""What the answer for one row rests on.

    .. math:: f(x) = b + \sum_i h_i(x)\, y_i \quad\text{or}\quad f(x) = b + \sum_i c_i k(x, x_i)

    The answer of ridge regression is a weighted sum of the targets of its training rows, -1 and +1
    for classes; the weights h sum to one, for each kernel of an average. Other machines, and those
    on landmarks, are sums of what each training row adds, whatever its target.

    Parameters
    ----------
    answer : label or float
        What is predicted.
    of : label, int or None
        Of classes, the one whose decision value is explained; of several outputs, which.
    value : float
        The decision value for that class, of two classes positive if it is the answer; or the
        value.
    offset : float
        b.
    of_targets : bool
        Whether weights multiply targets.
    rows : int array of shape (k,)
        The training rows that weigh most, by their position in `fit`, the heaviest first.
    weights : array of shape (k,)
        h, or what each adds.
    labels : array of shape (k,) or None
        Their labels or values (of several outputs, of the one explained), where the model keeps
        them.
    distances : array of shape (k,)
        Their distances from the row in the feature space of the (heaviest) kernel.
    share : float
        How much of the sum of all absolute weights these rows have.
    columns : list of (str, float)
        By how much the value is larger than with the values that other training rows have in a
        column, on average; the largest first. Empty where there are no columns.
    """

    answer: Any
    of: Any
    value: float
    offset: float
    of_targets: bool
    rows: Array
    weights: Array
    labels: Array | None
    distances: Array
    share: float
    columns: list[tuple[str, float]]

    def __str__(self) -> str:
        of = "" if self.of is None else f" for {self.of}"
        known = [""] * len(self.rows) if self.labels is None else self.labels.tolist()
        lines = [
            f"answer {_short(self.answer)}: value {self.value:.4g}{of}",
            f"{'row':>8}{'weight':>12}{'distance':>12}  {'label'}",
            *(
                f"{row:>8}{weight:>12.4g}{distance:>12.4g}  {_short(label)}"
                for row, weight, distance, label in zip(
                    self.rows.tolist(), self.weights, self.distances, known, strict=True
                )
            ),
            f"Together these rows have {self.share:.0%} of the weight of all training rows.",
            *(f"{name:>20}{effect:>+12.4g}" for name, effect in self.columns[:5]),
        ]
        return "\n".join(lines)


def _short(answer: Any) -> str:
    """Return a label as it is, numbers with four digits."""
    if isinstance(answer, list):
        return f"[{', '.join(map(_short, answer))}]"
    return f"{answer:.4g}" if isinstance(answer, float) else str(answer)


def explain(model: Any, X: Any, of: Any = None, most: int = 5) -> RowExplanation:
    """Return what the answer of a machine, a pipeline or an average for one row rests on."""
    X = one_row(X)
    parts = [(w, *encoded(part, X)) for w, part in _parts(model)]
    machines = [machine for _, machine, _, _ in parts]
    if any(machine.support_samples_ is None for machine in machines):
        raise ValueError(
            f"{type(model).__name__}: expected a model that keeps training rows, got one of a Gram "
            "matrix, or without its rows."
        )
    outputs = machines[0].coefficients_.shape[1]
    column, sign, named, value = _explained(model, X, of)
    smooth = all(machine._weighs_targets for machine in machines)
    size = 1 + max(int(np.max(machine.support_)) for machine in machines)
    weights, offset = np.zeros(size), 0.0
    distances = np.full(size, np.nan)
    labels: dict[int, Any] = {}
    for w, machine, E, _ in parts:
        Z = machine.support_samples_
        K = np.asarray(machine.kernel_(E, Z))[0]
        if smooth:
            weights[machine.support_] += w * smoother_weights(machine, K)
        else:
            weights[machine.support_] += w * sign * K * machine.coefficients_[:, column]
            offset += w * sign * float(machine.intercept_[column])
        square = machine.kernel_.diag(E)[0] + machine.kernel_.diag(Z) - 2.0 * K
        new = np.isnan(distances[machine.support_])
        distances[machine.support_[new]] = np.sqrt(np.maximum(square[new], 0.0))
        if hasattr(machine, "support_targets_"):
            labels |= zip(machine.support_.tolist(), machine.support_targets_, strict=True)
    # those of the Parzen classifier are in its intercepts
    apart = getattr(model, "threshold", 0.0) if not hasattr(model, "thresholds_") else 0.0
    shift = -sign * float(apart)
    said = sum(w * sign * float(machine._expand(E)[0, column]) for w, machine, E, _ in parts)
    if not np.isclose(said + shift, value, rtol=1e-6, atol=1e-9 * outputs):
        raise ValueError(
            f"Expected answers that are sums over training rows, got those of "
            f"{type(model).__name__}. Use ridge or logistic regression."
        )
    order = np.argsort(-np.abs(weights), kind="stable")[:most]
    order = order[weights[order] != 0.0]
    total = float(np.abs(weights).sum()) or 1.0
    return RowExplanation(
        answer=np.asarray(model.predict(X))[:1].tolist()[0],
        of=named,
        value=value,
        offset=offset + shift,
        of_targets=smooth,
        rows=order,
        weights=weights[order],
        labels=np.array([np.ravel(labels[k])[column % np.size(labels[k])] for k in order.tolist()])
        if labels
        else None,
        distances=distances[order],
        share=float(np.abs(weights[order]).sum() / total),
        columns=_columns(parts, column, sign),
    )


def smoother_weights(machine: Any, k: Array) -> Array:
    r"""Return what the target of each training row weighs in the prediction of a ridge machine.

    .. math:: h = A^{-1} k + A^{-1} 1\, \frac{1 - 1'A^{-1} k}{1'A^{-1} 1}, \qquad
              A = K + \alpha W^{-1}

    or the first term alone without an intercept.
    """
    Z = machine.support_samples_
    A = np.asarray(machine.kernel_(Z, Z), dtype=float)
    A = 0.5 * (A + A.T)
    w = getattr(machine, "support_weights_", np.ones(len(A)))
    A[np.diag_indices_from(A)] += machine.alpha_ / w + machine.jitter_
    u, v = Definite(A).solve(np.column_stack([k, np.ones(len(k))])).T
    if not machine.fit_intercept:
        return np.asarray(u)
    return np.asarray(u + v * (1.0 - u.sum()) / v.sum())


def one_row(X: Any) -> Any:
    """Return one row as models take rows, or raise."""
    if isinstance(X, str | bytes | set | frozenset):
        return [X]
    if hasattr(X, "to_frame") and hasattr(X, "iloc"):  # a series of pandas: a row of its frame
        X = X.to_frame().T.infer_objects()
    X = X if hasattr(X, "shape") or not np.ndim(X) else np.asarray(X)
    X = X[None] if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "fiub" else X
    count = X.shape[0] if hasattr(X, "shape") else len(X)
    if count != 1:
        raise ValueError(f"Expected one row, got {count}. Explain them one by one.")
    return X


def _parts(model: Any) -> list[tuple[float, Any]]:
    """Return the machines of a model, or pipelines of them, and their weights."""
    if hasattr(model, "machines_"):
        return list(zip(model.weights_.tolist(), model.machines_, strict=True))
    return [(1.0, model)]


def encoded(model: Any, X: Any) -> tuple[Any, Any, Any]:
    """Return the machine of a pipeline, samples as it takes them, and what encodes the table."""
    encoder = None
    for _, step in model.steps[:-1] if hasattr(model, "steps") else ():
        X = step.transform(X)
        encoder = step if hasattr(step, "sources") else encoder
    machine = model.steps[-1][1] if hasattr(model, "steps") else model
    machine = getattr(machine, "model_", machine)  # of several labels
    return machine, machine._check_new(X), encoder


def column_sources(encoder: Any, width: int) -> tuple[list[str], Array]:
    """Return the names of the columns of a table, and which of them each feature comes from."""
    if encoder is None:
        return [f"x{j}" for j in range(width)], np.arange(width)
    return [str(name) for name in encoder.column_names()], np.asarray(encoder.sources())


def _explained(model: Any, X: Any, of: Any) -> tuple[int, float, Any, float]:
    """Return which output is explained, with which sign, what it is called, and its value."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        values = np.asarray(model.predict(X), float)[0].ravel()
        place = 0 if of is None else of
        if not is_whole(place, 0) or place >= values.size:
            raise ValueError(f"Expected an output from 0 to {values.size - 1}, got {abridged(of)}.")
        named = None if values.size == 1 else int(place)
        return int(place), 1.0, named, float(values[place])
    label = model.predict(X)[0] if of is None else of
    where = np.flatnonzero(classes == label)
    if not len(where):
        raise ValueError(f"Expected one of {classes.tolist()}, got {abridged(of)}.")
    c = int(where[0])
    values = np.asarray(model.decision_function(X), float)[0].ravel()
    if len(classes) == 2:
        sign = 1.0 if c else -1.0
        return 0, sign, label, sign * float(values[0])
    return c, 1.0, label, float(values[c])


def _columns(parts: list[Any], column: int, sign: float) -> list[tuple[str, float]]:
    """Return what each column of the row adds to the value, the largest effect first."""
    effects: dict[str, float] = {}
    for w, machine, E, encoder in parts:
        for name, effect in _effects(machine, E, encoder, column):
            effects[name] = effects.get(name, 0.0) + sign * w * effect
    return sorted(effects.items(), key=lambda item: -abs(item[1]))


def _effects(machine: Any, E: Any, encoder: Any, column: int) -> Iterator[tuple[str, float]]:
    """Yield by how much a value is larger than with those of other training rows in a column."""
    Z = machine.support_samples_
    if not isinstance(Z, np.ndarray) or Z.ndim != 2 or Z.dtype.kind != "f":
        return
    E = np.asarray(E)
    names, source = column_sources(encoder, Z.shape[1])
    some = Z[np.linspace(0, len(Z) - 1, min(BACKGROUND, len(Z))).astype(int)]
    own = float(machine._expand(E)[0, column])
    for j in np.unique(source):
        mixed = np.repeat(E, len(some), axis=0)
        mixed[:, source == j] = some[:, source == j]
        yield names[j], own - float(machine._expand(mixed)[:, column].mean())


def outside(model: Any, X: Any) -> list[list[str]]:
    """Return for each row the names of the columns that are outside their training range."""
    machine, E, encoder = encoded(model, X)
    beyond = machine.features_outside(E)
    if not beyond.shape[1]:
        return [[] for _ in range(beyond.shape[0])]
    names, source = column_sources(encoder, beyond.shape[1])
    return [[names[j] for j in np.unique(source[row])] for row in beyond]

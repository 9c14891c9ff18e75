"""Models as ONNX: `to_onnx`, with the formulas of machines.

A machine is known by the methods that it predicts with: a class of one's own that inherits them is
exported as well, one that overrides them is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from gramsmith import __version__
from gramsmith.export.graph import IR_VERSION, OPSET, Graph, Tensor
from gramsmith.export.kernels import NotExportable, dense, matrix
from gramsmith.export.transformers import inputs, matrix_of, transformed
from gramsmith.files import replacing
from gramsmith.machines import (
    L2SVC,
    CentroidClassifier,
    KernelFisherDiscriminant,
    KernelRidgeRegressor,
    KernelSVC,
    RelevanceVectorClassifier,
    RelevanceVectorRegressor,
)
from gramsmith.machines.averages import AveragedMachines
from gramsmith.machines.base import (
    KernelClassifier,
    KernelMachine,
    KernelRegressor,
    ProbabilisticClassifier,
)
from gramsmith.machines.calibration import CalibratedScores
from gramsmith.machines.labels import LabelsClassifier
from gramsmith.machines.loss import LossProbabilities
from gramsmith.selection import KernelSelector
from gramsmith.storage import NOTE

LIMIT = 2**31 - 2**20  # of a message of protobuf


def to_onnx(model: Any, X: Any = None, *, path: str | os.PathLike[str] | None = None) -> Any:
    """Return a fitted model as an ONNX graph of plain float64 operators.

    The graph predicts what the model predicts, in any runtime and without gramsmith. Its input is
    ``X`` of shape (n, p), or one input per column that is used, named after it, where a table has
    more than numbers: texts for categories ("" where missing), dates as seconds since 1970. Its
    outputs are ``prediction``, and for classes ``decision_function`` and, where the model has them,
    ``probabilities``. It does not check its input: for rows that the model refuses its numbers are
    meaningless. Like a model file it holds training rows.

    Parameters
    ----------
    model : estimator, pipeline or KernelSelector
        Fitted, of vectors or of a table without free text.
    X : array or table of a few samples, optional
        Rows like those to come: the model predicts them first, so that it is found here, and not
        by wrong numbers later, if it does not take them.
    path : str or path-like, optional
        Where to write the graph too.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    NotExportable
        A ValueError with the reason: strings, functions of Python, steps that are not known.

    Examples
    --------
    >>> import gramsmith as gs
    >>> machine = gs.KernelSVC(gs.Gaussian(2.0)).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> graph = gs.to_onnx(machine, [[1.5]]).graph
    >>> [value.name for value in graph.input], [value.name for value in graph.output]
    (['X'], ['prediction', 'decision_function'])
    """
    try:
        import onnx
    except ModuleNotFoundError as error:
        advice = 'Expected onnx to be installed. Do this: pip install "gramsmith[onnx]"'
        raise ModuleNotFoundError(advice, name=error.name) from error

    graph = Graph(onnx)
    *_, machine = _steps(model)
    labels = _labels_of(model)
    parts = machine.machines_ if isinstance(machine, AveragedMachines) else [model]
    branches = [_steps(part) for part in parts]
    for *_, last in branches:
        if not isinstance(last, KernelMachine):
            raise NotExportable(
                f"Expected an estimator that predicts, got {type(last).__name__}. Export the "
                "pipeline that ends with it."
            )
        check_is_fitted(last)
    if X is not None:
        model.predict(X)
    values = [_values(last, _rows(graph, steps, last)) for *steps, last in branches]
    F = _mean(machine, values) if isinstance(machine, AveragedMachines) else values[0]
    if labels is not None:
        _label_outputs(graph, labels, F)
    elif hasattr(machine, "classes_"):
        _class_outputs(graph, machine, F)
    else:
        _value_outputs(graph, branches[0][-1], F)
    made = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            type(labels or machine).__name__,
            graph.inputs,
            graph.outputs,
            graph.constants,
        ),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="gramsmith",
        producer_version=__version__,
        doc_string=NOTE,
    )
    if made.ByteSize() > LIMIT:
        raise NotExportable(
            f"Expected a graph below 2 GiB, got {made.ByteSize():,} bytes. Use a model on fewer "
            "samples (landmarks)."
        )
    if path is not None:
        with replacing(Path(path)) as temporary:
            temporary.write_bytes(made.SerializeToString())
    return made


def _rows(graph: Graph, steps: list[Any], machine: Any) -> Tensor:
    """Return the rows that a machine sees, from the inputs of the graph."""
    rows = inputs(graph, steps, machine)
    for step in steps:
        rows = transformed(step, rows)
    return matrix_of(rows)


def _mean(machine: AveragedMachines, values: list[Tensor]) -> Tensor:
    """Return the weighted mean of the values of all machines, less the threshold."""
    weighted = [f * float(w) for w, f in zip(machine.weights_, values, strict=True)]
    f = sum(weighted[1:], weighted[0])
    return f - getattr(machine, "threshold", 0.0)


def _steps(model: Any) -> list[Any]:
    """Return the transformers and the machine of a model, in order."""
    if isinstance(model, KernelSelector):
        check_is_fitted(model)
        return _steps(model.best_estimator_)
    if isinstance(model, LabelsClassifier):
        check_is_fitted(model)
        return _steps(model.model_)
    if isinstance(model, Pipeline):
        used = [step for _, step in model.steps if step not in (None, "passthrough")]
        return [part for step in used for part in _steps(step)]
    return [model]


def _labels_of(model: Any) -> LabelsClassifier | None:
    """Return the classifier of several labels that a model is or ends with, if it does."""
    if isinstance(model, KernelSelector):
        return _labels_of(model.best_estimator_)
    if isinstance(model, Pipeline):
        return _labels_of(model.steps[-1][1])
    return model if isinstance(model, LabelsClassifier) else None


# ---- machines --------------------------------------------------------------------------------


def _kernel_rows(machine: Any, X: Tensor) -> Tensor:
    """Return the kernel of new rows with the samples that a machine keeps."""
    if machine.support_samples_ is None:
        return X.columns(machine.support_)
    return matrix(machine.kernel_, X, dense(machine.support_samples_, machine.kernel_))


def _expansion(machine: Any, X: Tensor) -> Tensor:
    if not len(machine.coefficients_):
        return X.graph.column(0.0) + np.zeros(machine.coefficients_.shape[1]) + machine.intercept_
    return _kernel_rows(machine, X) @ machine.coefficients_ + machine.intercept_


def _votes(machine: Any, X: Tensor) -> Tensor:
    """Return one value per class from those of all pairs, see `gramsmith.machines.svm.votes`."""
    F, C = _expansion(machine, X), len(machine.classes_)
    if C == 2:
        return F - getattr(machine, "threshold", 0.0)
    pairs = [(a, b) for a in range(C) for b in range(a + 1, C)]
    first = np.array([[float(c == a) for c in range(C)] for a, _ in pairs])
    second = np.array([[float(c == b) for c in range(C)] for _, b in pairs])
    wins = (F > 0.0).astype(np.float64)
    margin = F @ (first - second)
    return wins @ first + (1.0 - wins) @ second + margin / ((abs(margin) + 1.0) * 3.0)


def _fisher_scores(machine: KernelFisherDiscriminant, X: Tensor) -> Tensor:
    Z = _expansion(machine, X).call("Unsqueeze", np.array([1]))
    apart = Z - machine.means_[None]
    square = (apart * apart).call("ReduceSum", np.array([2]), keepdims=0)
    return square * -0.5 + np.log(machine.priors_)


def _fisher(machine: KernelFisherDiscriminant, X: Tensor) -> Tensor:
    F = _fisher_scores(machine, X)
    return F @ np.array([[-1.0], [1.0]]) if len(machine.classes_) == 2 else F


def _relevance(machine: RelevanceVectorClassifier, X: Tensor) -> Tensor:
    mean = _expansion(machine, X)
    variances = []
    for C in machine.covariance_:
        if not len(machine.coefficients_):
            variances.append(X.graph.column(float(C[0, 0])))
            continue
        K = _kernel_rows(machine, X)
        # (1, k)' C (1, k), the intercept first
        variances.append(((K @ C[1:, 1:]) * K).total() + K @ (2.0 * C[1:, :1]) + float(C[0, 0]))
    variance = X.graph.call("Concat", *variances, axis=1).call("Max", np.float64(0.0))
    return mean / np.sqrt(variance * (np.pi / 8.0) + 1.0)


# The method of a class -> what it computes, shape (n, 1) for two classes, else (n, classes).
DECISIONS: dict[Any, Callable[[Any, Tensor], Tensor]] = {
    KernelClassifier.decision_function: _expansion,
    KernelSVC.decision_function: _votes,
    L2SVC.decision_function: _votes,
    CentroidClassifier.decision_function: _votes,
    KernelFisherDiscriminant.decision_function: _fisher,
    RelevanceVectorClassifier.decision_function: _relevance,
}


def _both(f: Tensor) -> Tensor:
    """Return the logits of two classes from the decision value of the second."""
    return f @ np.array([[-0.5, 0.5]])


def _calibrated(machine: Any, f: Tensor) -> Tensor:
    F = _both(f) if len(machine.classes_) == 2 else f
    return _softmax(F * machine.calibration_slope_ + machine.calibration_offsets_)


def _softmax(F: Tensor) -> Tensor:
    return F.call("Softmax", axis=1)


def _logistic(machine: Any, f: Tensor) -> Tensor:
    if machine.loss != "logistic":
        raise NotExportable("Expected the logistic loss, got probabilities of another.")
    return _softmax(_both(f) if len(machine.classes_) == 2 else f)


def _one_against_rest(machine: Any, f: Tensor) -> Tensor:
    if len(machine.classes_) == 2:
        return _softmax(_both(f))
    # softmax of log σ(f) = min(f, 0) - log(1 + exp(-|f|))
    low = f.call("Min", np.float64(0.0))
    return _softmax(low - np.log1p(np.exp(-abs(f))))


# The method of a class -> probabilities from decision values.
PROBABILITIES: dict[Any, Callable[[Any, Tensor], Tensor]] = {
    CalibratedScores.__dict__["predict_proba"]: _calibrated,
    LossProbabilities.__dict__["predict_proba"]: _logistic,
    RelevanceVectorClassifier.predict_proba: _one_against_rest,
    # scores of Fisher's discriminant are logarithms up to a constant
    ProbabilisticClassifier.predict_proba: lambda machine, f: _softmax(
        _both(f) if len(machine.classes_) == 2 else f
    ),
}


# The method of a regressor that is its expansion.
VALUES = (
    KernelRegressor.predict,
    KernelRidgeRegressor.predict,
    RelevanceVectorRegressor.predict,
)


def _values(machine: Any, X: Tensor) -> Tensor:
    """Return decision values or predictions, shape (n, 1) or (n, outputs)."""
    cls = type(machine)
    if not isinstance(machine, KernelClassifier):
        if cls.predict not in VALUES:
            raise _unknown(machine, "predict")
        return _expansion(machine, X)
    if cls.predict is not KernelClassifier.predict:
        raise _unknown(machine, "predict")
    if cls.decision_function not in DECISIONS:
        raise _unknown(machine, "decision_function")
    return DECISIONS[cls.decision_function](machine, X)


def _value_outputs(graph: Graph, machine: Any, F: Tensor) -> None:
    """Give the graph the predictions of a regressor, or of an average of such."""
    if getattr(machine, "flat_", True):
        graph.output("prediction", F.call("Squeeze", np.array([1])), np.float64, ["n"])
    else:
        graph.output("prediction", F, np.float64, ["n", machine.coefficients_.shape[1]])


def _label_outputs(graph: Graph, model: LabelsClassifier, F: Tensor) -> None:
    shape, values = ["n", len(model.classes_)], model.values_
    code = (F > 0.0).call("Cast", to=graph.onnx.TensorProto.INT64)
    predicted = graph.constant(values).call("Gather", code)
    graph.output("prediction", predicted, _stored_type(values), shape)
    graph.output("decision_function", F, np.float64, shape)
    if hasattr(model, "predict_proba"):
        f = F * model.calibration_slopes_ + model.calibration_offsets_
        graph.output("probabilities", f.call("Sigmoid"), np.float64, shape)


def _class_outputs(graph: Graph, machine: Any, f: Tensor) -> None:
    cls, classes = type(machine), machine.classes_
    two = len(classes) == 2
    code = f > 0.0 if two else f.call("ArgMax", axis=1, keepdims=0)
    code = code.call("Squeeze", np.array([1])) if two else code
    code = code.call("Cast", to=graph.onnx.TensorProto.INT64)
    texts = classes.dtype.kind in "UO"
    if texts and not all(isinstance(label, str) for label in classes):
        raise NotExportable("Expected labels of one type, got texts among numbers. Name them all.")
    labels = graph.constant(classes).call("Gather", code)
    graph.output("prediction", labels, np.object_ if texts else _stored_type(classes), ["n"])
    shape = ["n"] if two else ["n", len(classes)]
    value = f.call("Squeeze", np.array([1])) if two else f
    graph.output("decision_function", value, np.float64, shape)
    if hasattr(machine, "predict_proba"):
        method = next(vars(c)["predict_proba"] for c in cls.__mro__ if "predict_proba" in vars(c))
        if method not in PROBABILITIES:
            raise _unknown(machine, "predict_proba")
        shares = PROBABILITIES[method](machine, f)
        graph.output("probabilities", shares, np.float64, ["n", len(classes)])


def _stored_type(classes: Any) -> Any:
    return np.float64 if classes.dtype.kind == "f" else classes.dtype


def _unknown(machine: Any, method: str) -> NotExportable:
    return NotExportable(
        f"Expected {type(machine).__name__} to inherit {method} from an estimator of gramsmith, "
        "got one of its own, which ONNX cannot know. Keep the model with save_model."
    )

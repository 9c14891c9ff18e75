"""ONNX graphs run by onnxruntime, and compared with the models they were made of."""

import numpy as np
import pytest

import gramsmith as gs

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

METHODS = {
    "prediction": "predict",
    "decision_function": "decision_function",
    "probabilities": "predict_proba",
}


def run(data, feed):
    """Return the outputs of a graph by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return dict(
        zip([value.name for value in session.get_outputs()], session.run(None, feed), strict=True)
    )


def feed_of(made, X):
    """Return rows as the inputs of a graph: one matrix, or one vector per column."""
    names = [value.name for value in made.graph.input]
    if names == ["X"]:
        return {"X": np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)}
    return {
        name: np.asarray(X[name], dtype=object if X[name].dtype.kind not in "fiub" else float)
        for name in names
    }


def assert_equal(model, X, tolerance=1e-9):
    """Assert that the graph of a model answers what the model answers."""
    made = gs.to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    assert {node.domain for node in made.graph.node} == {""}
    found = run(made.SerializeToString(), feed_of(made, X))
    wanted = {n: getattr(model, m)(X) for n, m in METHODS.items() if hasattr(model, m)}
    assert found.keys() == wanted.keys()
    for name, expected in wanted.items():
        if expected.dtype.kind == "f":
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(found[name], expected, rtol=0, atol=tolerance * scale)
        else:
            assert found[name].tolist() == expected.tolist()
    return found

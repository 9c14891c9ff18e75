"""Arithmetic that is remembered instead of done."""

import numpy as np
import pytest

from gramsmith.export.graph import Graph, traced
from tools.onnx_runs import onnx, run

ROWS = np.array([[0.5, 2.0], [3.0, 0.25]])


def computed(formula):
    """Return a formula of an input as onnxruntime computes it."""
    graph = Graph(onnx)
    X = graph.input("X", np.float64, ["n", 2])
    graph.output("out", formula(X), np.float64, ["n", "m"])
    made = onnx.helper.make_graph(graph.nodes, "g", graph.inputs, graph.outputs, graph.constants)
    opset = [onnx.helper.make_opsetid("", 19)]
    model = onnx.helper.make_model(made, opset_imports=opset, ir_version=9)
    return run(model.SerializeToString(), {"X": ROWS})["out"]


FORMULAS = [
    lambda x: 1.0 + x * 0.3 - x / 0.7,
    lambda x: 2.0 - x,
    lambda x: 1.0 / (3.0 * x),
    lambda x: abs(-x) ** 1.5,
    lambda x: np.exp(-np.sqrt(x)) + np.log(x),
    lambda x: np.sin(x) * np.cos(x) + np.tanh(x),
    lambda x: np.asarray(np.exp(np.negative(x))),
    lambda x: np.polynomial.polynomial.polyval(x, np.array([0.5, 0.1, 2.0])),
    lambda x: np.float64(0.1) * x + np.float64(0.3),
]


@pytest.mark.parametrize("formula", FORMULAS, ids=range(len(FORMULAS)))
def test_formulas_are_what_numpy_computes(formula):
    found = computed(lambda X: traced(formula, X))
    np.testing.assert_allclose(found, formula(ROWS), rtol=1e-14)


def test_a_cosine_is_a_sine():
    # onnxruntime 1.28 and before have no cosine of float64
    graph = Graph(onnx)
    traced(np.cos, graph.input("X", np.float64, ["n", 2]))
    assert [node.op_type for node in graph.nodes] == ["Add", "Sin"]


def test_factors_stay_float64_before_and_after_products():
    # onnxruntime would put a constant factor into a float32 attribute of MatMul
    M = np.array([[0.1, 0.2], [0.3, 0.4]])
    found = computed(lambda X: ((X * 0.3) @ M) / 0.7)
    np.testing.assert_allclose(found, (ROWS * 0.3) @ M / 0.7, rtol=1e-15)


def test_equal_constants_are_kept_once():
    graph = Graph(onnx)
    names = {graph.constant(value).name for value in (np.ones(3), np.ones(3), [1.0, 1.0, 1.0])}
    assert len(names) == 1
    assert graph.constant(np.array(["a"])).name != graph.constant(np.array(["b"])).name


def test_a_formula_that_is_no_arithmetic_is_refused():
    graph = Graph(onnx)
    with pytest.raises(TypeError, match="formula of arithmetic"):
        traced(lambda s: 1.0, graph.input("X", np.float64, ["n", 2]))

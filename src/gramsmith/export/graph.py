"""A graph of ONNX operators, written as arithmetic: a `Tensor` is a value that is not there yet.

Formulas of NumPy's functions and operators take a Tensor where they would take an array, and the
graph remembers what they did. All numbers are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

Array = npt.NDArray[Any]

OPSET = 19  # the first in which texts can be compared
IR_VERSION = 9


class Graph:
    """Operators and constants collected so far; `onnx` is the package."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._known: dict[Any, str] = {}
        self._columns: dict[float, Tensor] = {}

    def input(self, name: str, kind: Any, shape: list[Any]) -> Tensor:
        """Return an input of a NumPy type; a text in its shape is a size not known yet."""
        if all(known.name != name for known in self.inputs):
            self.inputs.append(self._described(name, kind, shape))
        return Tensor(self, name)

    def output(self, name: str, value: Tensor, kind: Any, shape: list[Any]) -> None:
        """Let a value be an output under a name."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(self._described(name, kind, shape))

    def _described(self, name: str, kind: Any, shape: list[Any]) -> Any:
        code = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.onnx.helper.make_tensor_value_info(name, code, shape)

    def constant(self, value: Any) -> Tensor:
        """Return a constant; floats become float64, texts stay texts."""
        array = np.asarray(value)
        array = array.astype(np.float64) if array.dtype.kind == "f" else array
        key: Any = (array.dtype.str, array.shape, array.tobytes())
        if array.dtype.kind in "UO":
            array = array.astype(object)
            key = ("text", array.shape, tuple(array.ravel().tolist()))
        if key not in self._known:
            self._known[key] = name = f"constant_{len(self._known)}"
            self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return Tensor(self, self._known[key])

    def column(self, value: float) -> Tensor:
        """Return the same number for every row, shape (n, 1); no constant for the runtime."""
        if value not in self._columns:
            rows = Tensor(self, self.inputs[0].name).call("Shape", start=0, end=1)
            shape = self.call("Concat", rows, np.array([1]), axis=0)
            self._columns[value] = self.call("Expand", np.array([[value]]), shape)
        return self._columns[value]

    def call(self, operator: str, *arguments: Any, **attributes: Any) -> Tensor:
        """Return the value of an operator."""
        return self.call_many(operator, 1, *arguments, **attributes)[0]

    def call_many(
        self, operator: str, count: int, *arguments: Any, **attributes: Any
    ) -> list[Tensor]:
        """Return the values of an operator that has several."""
        names = [a.name if isinstance(a, Tensor) else self.constant(a).name for a in arguments]
        results = [f"{operator.lower()}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(self.onnx.helper.make_node(operator, names, results, **attributes))
        return [Tensor(self, result) for result in results]


class Tensor(NDArrayOperatorsMixin):
    """A value of a graph, to which operators and functions of NumPy can be applied."""

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def call(self, operator: str, *more: Any, **attributes: Any) -> Tensor:
        """Return the value of an operator whose first argument this is."""
        return self.graph.call(operator, self, *more, **attributes)

    def __array_ufunc__(self, function: Any, method: str, *arguments: Any, **options: Any) -> Any:
        formula = FORMULAS.get(function)
        if formula is not None:
            return formula(*arguments)
        operator = OPERATORS.get(function)
        if method != "__call__" or operator is None:
            return NotImplemented
        given = [_real(argument) for argument in arguments]
        if operator in ("Mul", "Div"):
            # onnxruntime puts a constant factor into an attribute of MatMul, which is float32
            given = [
                self.graph.column(v.item()) if isinstance(v, np.ndarray) and v.size == 1 else v
                for v in given
            ]
        return self.graph.call(operator, *given)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        formula = FORMULAS.get(function)
        return NotImplemented if formula is None else formula(*arguments, **options)

    def columns(self, places: Any) -> Any:
        """Return some columns."""
        return self.call("Gather", np.asarray(places, np.int64), axis=1)

    def total(self) -> Tensor:
        """Return the sum of every row, as a column."""
        return self.call("ReduceSum", np.array([1]), keepdims=1)

    def astype(self, kind: type) -> Tensor:
        """Return flags or whole numbers as float64 or int64."""
        code = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self.call("Cast", to=code)

    def reshape(self, *shape: int) -> Tensor:
        """Return the same numbers in another shape."""
        return self.call("Reshape", np.array(shape))


OPERATORS: dict[Any, str] = {
    **{np.add: "Add", np.subtract: "Sub", np.multiply: "Mul", np.divide: "Div", np.power: "Pow"},
    **{np.matmul: "MatMul", np.negative: "Neg", np.absolute: "Abs", np.exp: "Exp"},
    **{np.log: "Log", np.sqrt: "Sqrt", np.sin: "Sin", np.tanh: "Tanh", np.floor: "Floor"},
    **{np.maximum: "Max", np.minimum: "Min", np.isnan: "IsNaN", np.equal: "Equal"},
    **{np.greater: "Greater", np.greater_equal: "GreaterOrEqual", np.less_equal: "LessOrEqual"},
}
FORMULAS: dict[Any, Any] = {
    # a sine, because onnxruntime up to 1.28 has no cosine of float64
    np.cos: lambda x: np.sin(x + np.pi / 2),
    np.log1p: lambda x: np.log(x + 1.0),
    np.expm1: lambda x: np.exp(x) - 1.0,
    np.where: lambda at, a, b: at.graph.call("Where", at, _real(a), _real(b)),
    np.take: lambda x, places, axis: x.columns(places),
    np.take_along_axis: lambda x, places, axis: _of_rows(x, places),
    np.argmin: lambda x, axis: x.call("ArgMin", axis=axis, keepdims=0).astype(np.float64),
    np.hstack: lambda parts: (
        parts[0].graph.call("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    ),
}


def _real(value: Any) -> Any:
    """Return an argument of an operator: texts as they are, other constants as float64."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 0:
        value = value.item()
    if isinstance(value, Tensor):
        return value
    value = np.asarray(value)
    return value if value.dtype.kind in "UO" else value.astype(np.float64)


def _of_rows(values: Any, places: Tensor) -> Tensor:
    """Return of every row the entries at its own places, or those of one row that all share."""
    places = places.astype(np.int64)
    if isinstance(values, Tensor):
        return values.call("GatherElements", places, axis=1)
    return places.graph.constant(values[0]).call("Gather", places)


def traced(formula: Any, value: Tensor) -> Tensor:
    """Return a formula of NumPy's functions, applied to a value of the graph."""
    found = formula(value)
    found = found.item() if isinstance(found, np.ndarray) else found
    if not isinstance(found, Tensor):
        raise TypeError(f"Expected a formula of arithmetic, got {type(found).__name__}.")
    return found

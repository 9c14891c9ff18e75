"""A graph of ONNX operators, written as arithmetic: a `Tensor` is a value that is not there yet.

Formulas of NumPy's functions and operators take a Tensor where they would take an array, and the
graph remembers what they did. All numbers are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

OPSET = 19  # the first in which texts can be compared
IR_VERSION = 9


class Graph:
    """Operators and constants collected so far.

    Parameters
    ----------
    onnx : module
        The package, which is imported by whoever exports.
    """

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


class Tensor:
    """A value of a graph, with the arithmetic that formulas need.

    Parameters
    ----------
    graph : Graph
    name : str
    """

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def call(self, operator: str, *more: Any, **attributes: Any) -> Tensor:
        """Return the value of an operator whose first argument this is."""
        return self.graph.call(operator, self, *more, **attributes)

    def _factor(self, other: Any) -> Any:
        value = _real(other)
        # onnxruntime puts a constant factor into an attribute of MatMul, which is float32
        single = isinstance(value, np.ndarray) and value.size == 1
        return self.graph.column(value.item()) if single else value

    def __add__(self, other: Any) -> Tensor:
        return self.call("Add", _real(other))

    def __mul__(self, other: Any) -> Tensor:
        return self.call("Mul", self._factor(other))

    def __sub__(self, other: Any) -> Tensor:
        return self.call("Sub", _real(other))

    def __truediv__(self, other: Any) -> Tensor:
        return self.call("Div", self._factor(other))

    def __pow__(self, other: Any) -> Tensor:
        return self.call("Pow", _real(other))

    def __matmul__(self, other: Any) -> Tensor:
        return self.call("MatMul", _real(other))

    def __gt__(self, other: Any) -> Tensor:
        return self.call("Greater", _real(other))

    def __radd__(self, other: Any) -> Tensor:
        return self + other

    def __rmul__(self, other: Any) -> Tensor:
        return self * other

    def __rsub__(self, other: Any) -> Tensor:
        return -self + other

    def __rtruediv__(self, other: Any) -> Tensor:
        return self.graph.constant(_real(other)) / self

    def __neg__(self) -> Tensor:
        return self.call("Neg")

    def __abs__(self) -> Tensor:
        return self.call("Abs")

    # NumPy's functions of an array of objects call the methods of these names.

    def exp(self) -> Tensor:
        """Return the exponential."""
        return self.call("Exp")

    def sqrt(self) -> Tensor:
        """Return the square root."""
        return self.call("Sqrt")

    def log(self) -> Tensor:
        """Return the logarithm."""
        return self.call("Log")

    def sin(self) -> Tensor:
        """Return the sine."""
        return self.call("Sin")

    def cos(self) -> Tensor:
        """Return the cosine: a sine, because onnxruntime up to 1.28 has no cosine of float64."""
        return (self + np.pi / 2).sin()

    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent."""
        return self.call("Tanh")

    def total(self) -> Tensor:
        """Return the sum of every row, as a column."""
        return self.call("ReduceSum", np.array([1]), keepdims=1)

    def columns(self, index: Any) -> Tensor:
        """Return some columns."""
        return self.call("Gather", np.asarray(index, dtype=np.int64), axis=1)

    def as_numbers(self) -> Tensor:
        """Return flags or whole numbers as float64."""
        return self.call("Cast", to=self.graph.onnx.TensorProto.DOUBLE)


def _real(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.item()
    if isinstance(value, Tensor):
        return value
    return np.asarray(value, dtype=np.float64)


def traced(formula: Any, value: Tensor) -> Tensor:
    """Return a formula of NumPy's functions, applied to a value of the graph."""
    # in an array of objects NumPy leaves the arithmetic to the objects
    box = np.empty((), dtype=object)
    box[()] = value
    found = formula(box)
    found = found.item() if isinstance(found, np.ndarray) else found
    if not isinstance(found, Tensor):
        raise TypeError(f"Expected a formula of arithmetic, got {type(found).__name__}.")
    return found

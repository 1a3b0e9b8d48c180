"""What is here: an ONNX graph as it is being built - values, constants, nodes."""

from typing import Any, NamedTuple

import numpy as np

OPSET = 17
IR_VERSION = 8  # of the same age: runtimes since 2022 read both


class Value(NamedTuple):
    """The name of a tensor in the graph and the NumPy type of its entries."""

    name: str
    dtype: np.dtype


class Graph:
    """Collect nodes and constants; every result gets a name of its own.

    Names are made here and never from data: a label called `scores`, or one with a quotation mark,
    has no way into the graph.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.domains: set[str] = set()

    def add(
        self, operator: str, *inputs: Value, dtype: Any = None, domain: str = "", **attributes: Any
    ) -> Value:
        """Append a node; its one output has the type of its first input unless `dtype` says."""
        from onnx import helper

        result = Value(
            f"{operator.lower()}_{len(self.nodes)}",
            np.dtype(inputs[0].dtype if dtype is None else dtype),
        )
        names = [value.name for value in inputs]
        self.nodes.append(
            helper.make_node(operator, names, [result.name], domain=domain, **attributes)
        )
        self.domains.add(domain)
        return result

    def add_second_output(self, operator: str, *inputs: Value, dtype: Any, **attributes: Any):
        """Append a node of which only the second output is wanted."""
        result = self.add(operator, *inputs, dtype=dtype, **attributes)
        self.nodes[-1].output.insert(0, f"{result.name}_unused")
        return result

    def constant(self, array: Any, dtype: Any = None) -> Value:
        """Store an array; text becomes a tensor of strings."""
        from onnx import TensorProto, helper, numpy_helper

        name = f"constant_{len(self.constants)}"
        array = np.asarray(array)
        if array.dtype.kind in "UO":
            # a lone surrogate is no text that UTF-8 knows
            texts: Any = [str(text).encode("utf-8", "backslashreplace") for text in array.ravel()]
            tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, texts)
            self.constants.append(tensor)
            return Value(name, np.dtype(object))
        array = np.ascontiguousarray(array, dtype=dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, array.dtype)

    def like(self, value: Value, array: Any) -> Value:
        """Store numbers in the type of `value`."""
        return self.constant(array, value.dtype)

    def cast(self, value: Value, dtype: Any) -> Value:
        from onnx import helper

        if value.dtype == dtype:
            return value
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", value, dtype=dtype, to=kind)

    def affine(self, X: Value, coef: np.ndarray, intercept: Any) -> Value:
        """X @ coef.T + intercept."""
        shift = np.broadcast_to(np.asarray(intercept, dtype=np.float64), (len(coef),))
        return self.add("Gemm", X, self.like(X, coef), self.like(X, shift), transB=1)

    def clip(self, value: Value, low: float, high: float) -> Value:
        return self.add("Clip", value, self.like(value, low), self.like(value, high))

    def rename(self, value: Value, name: str) -> Value:
        """Give a result the name that the user of the file sees."""
        self.nodes.append(_identity(value.name, name))
        return Value(name, value.dtype)


def _identity(old: str, new: str) -> Any:
    from onnx import helper

    return helper.make_node("Identity", [old], [new])

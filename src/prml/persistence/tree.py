"""What is here: an estimator as a tree of plain values and back; arrays go to a list beside it.

JSON's own values stand for themselves. Everything else is an object with the key "@", which says
what it is: array, strings, objects, sparse, dict, tuple, float, dtype, estimator.
"""

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from prml.persistence.classes import TRANSIENT, UNSAVED, check_shapes, class_named, name_of
from prml.persistence.errors import ModelFileError
from prml.sparse_check import check_sparse_indices

MAX_DEPTH = 40
_SPARSE = {
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
}
_NUMBER_TYPES = {t.__name__: t for t in (np.float64, np.float32, np.int64, np.int32, np.bool_)}
_PLAIN = frozenset({str, int, bool, type(None)})
_RANDOM = (np.random.RandomState, np.random.Generator, np.random.BitGenerator)


class Encoder:
    """Turn values into JSON; `arrays` collects the numeric arrays in the order they are met."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return the JSON form of `value`; `where` names it in an error."""
        if depth > MAX_DEPTH:
            raise ModelFileError(f"{where} is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"@": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where, depth)
        if isinstance(value, list):
            return self._items(value, where, depth)
        if type(value) is tuple:
            return {"@": "tuple", "items": self._items(value, where, depth)}
        if isinstance(value, dict):
            keys = self._items(list(value), f"a key of {where}", depth)
            values = self._items(list(value.values()), f"a value of {where}", depth)
            return {"@": "dict", "keys": keys, "values": values}
        if sp.issparse(value):
            return self._sparse(value, where, depth)
        if isinstance(value, type) and value.__name__ in _NUMBER_TYPES:
            return {"@": "dtype", "name": value.__name__}
        if isinstance(value, Path):
            return str(value)
        return self._estimator(value, where, depth)

    def _items(self, values: Any, where: str, depth: int) -> list[Any]:
        if all(type(v) in _PLAIN for v in values):  # long lists of names, quickly
            return list(values)
        return [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(values)]

    def _array(self, array: np.ndarray, where: str, depth: int) -> dict[str, Any]:
        if array.dtype.kind in "biuf":
            self.arrays.append(array)
            return {"@": "array", "part": len(self.arrays) - 1}
        if array.dtype.kind in "UO" or array.dtype.kind == "T":
            items = array.ravel().tolist()
            kind = "objects" if array.dtype.kind == "O" else "strings"
            return {
                "@": kind,
                "shape": list(array.shape),
                "items": self._items(items, where, depth),
            }
        raise ModelFileError(f"{where} is an array of dtype {array.dtype}; no file can hold it.")

    def _sparse(self, matrix: Any, where: str, depth: int) -> dict[str, Any]:
        kind = type(matrix).__name__
        if kind not in _SPARSE:
            raise ModelFileError(f"{where} is a {kind}; only CSR and CSC are stored.")
        node: dict[str, Any] = {"@": "sparse", "kind": kind, "shape": list(map(int, matrix.shape))}
        for part in ("data", "indices", "indptr"):
            node[part] = self._array(getattr(matrix, part), f"{where}.{part}", depth + 1)
        return node

    def _estimator(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        name = name_of(value)
        if name is None:
            raise ModelFileError(
                f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which a model "
                "file cannot hold (it holds numbers, text, arrays and the estimators of prml)."
            )
        names = set(value.get_params(deep=False))
        params: dict[str, Any] = {}
        state: dict[str, Any] = {}
        for attribute, held in vars(value).items():
            inside = f"{name}.{attribute}" if depth == 0 else f"{where}.{attribute}"
            if attribute in UNSAVED or attribute in getattr(value, "_unsaved", ()):
                continue
            if attribute in names and _belongs_to_the_run(attribute, held):
                if attribute not in TRANSIENT:
                    warnings.warn(
                        f"{inside} is a {type(held).__name__}, which serves the fit alone; "
                        "the file keeps None in its place.",
                        UserWarning,
                        stacklevel=2,
                    )
                held = None
            target = params if attribute in names else state
            target[attribute] = self.encode(held, inside, depth + 1)
        return {"@": "estimator", "class": name, "params": params, "state": state}


def _belongs_to_the_run(parameter: str, held: Any) -> bool:
    """Tell parameters that a fitted model no longer needs and a file cannot hold."""
    if parameter in TRANSIENT or isinstance(held, _RANDOM):
        return True
    return parameter == "cv" and not isinstance(held, int | str | None)


class Decoder:
    """Turn the JSON form back; `array` returns the array of a part number."""

    def __init__(self, array: Callable[[Any], np.ndarray]):
        self._array_of = array
        self._readers: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "array": lambda node, depth: self._array_of(node["part"]),
            "strings": self._strings,
            "objects": self._objects,
            "sparse": self._sparse,
            "tuple": lambda node, depth: tuple(self._list(node["items"], depth)),
            "dict": self._dict,
            "float": self._float,
            "dtype": lambda node, depth: _NUMBER_TYPES[node["name"]],
            "estimator": self._estimator,
        }

    def decode(self, node: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise ModelFileError(f"its header is nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, list):
            return self._list(node, depth)
        if not isinstance(node, dict):
            return node
        kind = node.get("@")
        if not isinstance(kind, str) or kind not in self._readers:
            raise ModelFileError(f"its header holds a value of the unknown kind {kind!r}")
        return self._readers[kind](node, depth)

    def _list(self, items: Any, depth: int) -> list[Any]:
        if not isinstance(items, list):
            raise ModelFileError("its header has no list where one is expected")
        if all(type(item) in _PLAIN for item in items):
            return items
        return [self.decode(item, depth + 1) for item in items]

    def _dict(self, node: dict[str, Any], depth: int) -> dict[Any, Any]:
        keys = self._list(node["keys"], depth)
        return dict(zip(keys, self._list(node["values"], depth), strict=True))

    def _float(self, node: dict[str, Any], depth: int) -> float:
        if node["value"] not in ("nan", "inf", "-inf"):
            raise ModelFileError(f"its header holds the number {node['value']!r}")
        return float(node["value"])

    def _shaped(self, items: list[Any], node: dict[str, Any], dtype: Any) -> np.ndarray:
        shape = node["shape"]
        if not isinstance(shape, list) or not all(type(s) is int and s >= 0 for s in shape):
            raise ModelFileError(f"its header claims the shape {shape!r}")
        if math.prod(shape) != len(items):
            raise ModelFileError(f"its header claims the shape {shape} for {len(items)} values")
        flat = np.empty(len(items), dtype=object)
        flat[:] = items
        return flat.astype(dtype).reshape(shape)

    def _strings(self, node: dict[str, Any], depth: int) -> np.ndarray:
        items = self._list(node["items"], depth)
        if not all(isinstance(item, str) for item in items):
            raise ModelFileError("its header has a value that is no text in a list of texts")
        # An array of fixed width costs its longest text for every entry.
        width = max(map(len, items), default=0)
        if width * len(items) > 64 * sum(map(len, items)) + 2**20:
            return self._shaped(items, node, object)
        return self._shaped(items, node, str)

    def _objects(self, node: dict[str, Any], depth: int) -> np.ndarray:
        return self._shaped(self._list(node["items"], depth), node, object)

    def _sparse(self, node: dict[str, Any], depth: int) -> Any:
        kind, shape = _SPARSE[node["kind"]], node["shape"]
        if len(shape) != 2 or not all(type(s) is int and s >= 0 for s in shape):
            raise ModelFileError(f"its header claims the shape {shape!r}")
        parts = [self.decode(node[key], depth + 1) for key in ("data", "indices", "indptr")]
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
            raise ModelFileError("a sparse matrix is not made of three arrays")
        matrix = kind(tuple(parts), shape=tuple(shape))
        check_sparse_indices(matrix, "it")
        return matrix

    def _estimator(self, node: dict[str, Any], depth: int) -> Any:
        cls = class_named(node["class"])
        values = {}
        for group in ("params", "state"):
            if not isinstance(node[group], dict):
                raise ModelFileError(f"its header lacks the {group} of {node['class']}")
            values[group] = {k: self.decode(v, depth + 1) for k, v in node[group].items()}
        known = cls._get_param_names()
        for name in values["params"]:
            if name not in known:
                raise ModelFileError(
                    f"{node['class']} has no parameter {name!r} in this version of prml or "
                    "scikit-learn; expected " + ", ".join(known)
                )
        estimator = cls(**values["params"])
        for name, value in values["state"].items():
            if not name.isidentifier() or name.startswith("__") or _is_code(cls, name):
                raise ModelFileError(f"{node['class']} cannot have the attribute {name!r}")
            vars(estimator)[name] = value
        check_shapes(node["class"], estimator)
        return estimator


def _is_code(cls: type, name: str) -> bool:
    held = getattr(cls, name, None)
    return callable(held) or hasattr(held, "__get__")

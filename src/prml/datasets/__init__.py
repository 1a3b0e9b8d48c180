"""Datasets and their file formats.

What is here: the public names, imported only when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker sees of the names below
    from prml.datasets.arff import load_arff
    from prml.datasets.arff_writer import dump_arff
    from prml.datasets.debtags import load_debtags
    from prml.datasets.libsvm import load_libsvm, load_xmc
    from prml.datasets.libsvm_writer import dump_libsvm
    from prml.datasets.load import list_datasets, load_dataset
    from prml.datasets.table import DatasetInfo

__all__ = [
    "DatasetInfo",
    "dump_arff",
    "dump_libsvm",
    "list_datasets",
    "load_arff",
    "load_dataset",
    "load_debtags",
    "load_libsvm",
    "load_xmc",
]
_HOME = {
    "DatasetInfo": "prml.datasets.table",
    "dump_arff": "prml.datasets.arff_writer",
    "dump_libsvm": "prml.datasets.libsvm_writer",
    "list_datasets": "prml.datasets.load",
    "load_arff": "prml.datasets.arff",
    "load_dataset": "prml.datasets.load",
    "load_debtags": "prml.datasets.debtags",
    "load_libsvm": "prml.datasets.libsvm",
    "load_xmc": "prml.datasets.libsvm",
}


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'prml.datasets' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

"""Datasets and their file formats.

What is here: the public names, imported only when first used.
"""

from importlib import import_module

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

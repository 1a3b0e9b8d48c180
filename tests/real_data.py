"""What is here: real datasets for tests, which skip where they are absent; nothing is fetched."""

import os
from pathlib import Path

import pytest

from prml.datasets import load_dataset


def folder_of(name):
    """The folder that holds the dataset; skip where none does."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("PRML_DATA") or beside)
    if not (folder / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is neither in $PRML_DATA nor in ../shared/data")
    return folder


def load_real(name):
    """The dataset, as `load_dataset` gives it."""
    return load_dataset(name, data_home=folder_of(name))

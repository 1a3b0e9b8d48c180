"""What is here: stratified halves of real data for measurements."""

import os
from pathlib import Path

import pytest

from prml.datasets import load_dataset, load_debtags
from prml.model_selection import multilabel_train_test_split


def halves_of(name, seed=0):
    """Return X, X_test, Y, Y_test; skip where the data are absent (no test fetches them)."""
    data = load_debtags() if name == "debtags" else _read(name)
    return multilabel_train_test_split(data.X, data.Y, test_size=0.5, random_state=seed)


def _read(name):
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("PRML_DATA") or beside)
    if not (folder / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is neither in $PRML_DATA nor in ../shared/data")
    return load_dataset(name, data_home=folder)

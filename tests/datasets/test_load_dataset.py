"""What is here: the table, and where load_dataset looks before it fetches anything."""

import os
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from prml.datasets import list_datasets, load_dataset
from prml.datasets import load as load_module
from prml.datasets.store import Parts, read_npz, write_npz

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
# n, d, L, cardinality and density as the paper's table of datasets prints them.
PAPER = {
    "enron": (1702, 1001, 53, 3.378, 0.064),
    "yeast": (2417, 103, 14, 4.237, 0.303),
    "corel5k": (5000, 499, 374, 3.522, 0.009),
    "bibtex": (7395, 1836, 159, 2.402, 0.015),
    "eurlex": (19348, 5000, 3993, 5.310, 0.001),
    "mediamill": (43907, 120, 101, 4.376, 0.043),
}
EXTRAS = {"emotions", "scene", "flags", "medical", "genbase", "delicious", "tmc2007-500"}


def small_flags(value=1.0):
    """Parts with the sizes of flags, so that they pass the check against the table."""
    X = sp.csr_matrix(np.full((194, 19), value))
    Y = np.zeros(194 * 7)
    Y[:658] = 1
    return Parts(X, sp.csr_matrix(Y.reshape(194, 7)))


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("something tried to leave this process")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without data: no variable, no shared folder, an empty cache."""
    monkeypatch.delenv("PRML_DATA", raising=False)
    monkeypatch.setattr(load_module, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(load_module, "shared_folder", lambda: tmp_path / "shared")
    return tmp_path


def test_table_has_the_figures_of_the_paper():
    table = list_datasets()
    assert set(table) == set(PAPER) | EXTRAS
    for name, (n, d, n_labels, cardinality, density) in PAPER.items():
        row = table[name]
        assert (row.n_samples, row.n_features, row.n_labels) == (n, d, n_labels)
        assert round(row.cardinality, 3) == cardinality and round(row.density, 3) == density
    assert all(row.citation for row in table.values())
    sums = {s.sdist.sha256 for row in table.values() for s in row.sources if hasattr(s, "sdist")}
    assert len(sums) == 2 and all(len(value) == 64 for value in sums)


@pytest.mark.parametrize("name", PAPER)
def test_the_six_of_the_paper(name, no_network):
    if not (SHARED / f"{name}.npz").is_file():
        pytest.skip("there is no shared/data beside the checkout")
    held = load_dataset(name, data_home=SHARED)
    n, d, n_labels, cardinality, density = PAPER[name]
    assert held.X.shape == (n, d) and held.Y.shape == (n, n_labels)
    assert round(held.Y.sum() / n, 3) == cardinality
    assert round(held.Y.sum() / n / n_labels, 3) == density
    assert isinstance(held.X, np.ndarray) == (name in ("yeast", "mediamill"))
    assert sp.issparse(held.Y) and held.Y.has_canonical_format and (held.Y.data == 1).all()
    assert len(held.feature_names) == d and len(held.label_names) == n_labels
    split = np.sort(np.concatenate([held.train_idx, held.test_idx]))
    np.testing.assert_array_equal(split, np.arange(n))
    assert held.citation and Path(held.source).name == f"{name}.npz"


def test_order_of_search(nowhere, monkeypatch, no_network):
    """data_home, then PRML_DATA, then shared/data, then the cache."""
    places = [nowhere / "home", nowhere / "variable", nowhere / "shared", nowhere / "cache"]
    for value, place in enumerate(places, start=1):
        write_npz(place / "flags.npz", small_flags(value))
    monkeypatch.setenv("PRML_DATA", str(places[1]))
    for value, place in enumerate(places, start=1):
        held = load_dataset("Flags", data_home=places[0])
        assert held.X[0, 0] == value and held.source == str(place / "flags.npz")
        (place / "flags.npz").unlink()


def test_the_shared_folder_is_beside_the_checkout():
    assert load_module.shared_folder() == SHARED


def test_no_source_at_all(nowhere, no_network):
    with pytest.raises(OSError, match=r"flags\.npz is in none of .*No public source"):
        load_dataset("flags")


def test_unknown_name():
    with pytest.raises(ValueError, match=r"no dataset named 'iris'; expected one of bibtex, "):
        load_dataset("iris")


def test_wrong_or_damaged_file(nowhere, no_network):
    path = nowhere / "cache" / "flags.npz"
    write_npz(path, small_flags()._replace(Y=sp.csr_matrix(np.ones((194, 7)))))
    with pytest.raises(ValueError, match=r"is not flags: .* expected \(194, 19, 7, 658\)"):
        load_dataset("flags")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"flags\.npz is not a readable dataset file"):
        load_dataset("flags")
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"flags\.npz is not a readable dataset file"):
        load_dataset("flags")


def test_a_pickle_in_an_npz_is_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X_data=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="not a readable dataset file"):
        read_npz(tmp_path / "a.npz")


def test_npz_round_trip(tmp_path):
    parts = small_flags(0.5)._replace(
        train_idx=np.arange(100),
        test_idx=np.arange(100, 194),
        label_names=np.array(list("abcdefg")),
    )
    write_npz(tmp_path / "new" / "a.npz", parts)
    held = read_npz(tmp_path / "new" / "a.npz")
    assert abs(held.X - parts.X).max() == 0 and abs(held.Y - parts.Y).max() == 0
    np.testing.assert_array_equal(held.train_idx, parts.train_idx)
    assert held.label_names.tolist() == list("abcdefg") and held.feature_names is None


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    write_npz(tmp_path / "a.npz", small_flags(1))
    before = (tmp_path / "a.npz").read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        write_npz(tmp_path / "a.npz", small_flags(2))
    assert (tmp_path / "a.npz").read_bytes() == before
    assert os.listdir(tmp_path) == ["a.npz"]

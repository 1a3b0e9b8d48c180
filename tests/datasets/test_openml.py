"""What is here: OpenML as a source, with the answers that scikit-learn keeps for its own tests."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import Bunch

from prml.datasets.openml import fetch_from_openml, openml_parts
from prml.datasets.table import TABLE, OpenMLSource


def test_emotions(monkeypatch, tmp_path):
    """The first 13 rows of emotions, read through scikit-learn from recorded answers."""
    try:
        from sklearn.datasets.tests.test_openml import _monkey_patch_webbased_functions
    except ImportError:
        pytest.skip("this scikit-learn has no recorded answers of OpenML")
    _monkey_patch_webbased_functions(monkeypatch, 40589, True)
    parts = fetch_from_openml(OpenMLSource(40589), TABLE["emotions"], tmp_path)
    assert parts.X.shape == (13, 72) and parts.Y.shape == (13, 6)
    assert parts.Y[:2].toarray().tolist() == [[0, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 1]]
    assert parts.label_names[0] == "amazed.suprised"
    assert parts.feature_names[0] == "Mean_Acc1298_Mean_Mem40_Centroid"
    assert parts.train_idx is None


def held(data, target, categories):
    names = [f"x{j}" for j in range(data.shape[1])]
    target = np.array(target, dtype=object)
    return Bunch(
        data=data,
        target=target,
        categories=categories,
        feature_names=names,
        target_names=[f"y{j}" for j in range(target.shape[1])],
    )


@pytest.mark.parametrize("container", [np.array, sp.csr_matrix])
def test_nominal_features_get_their_numbers_back(container):
    categories = {"x1": ["YES", "NO"], "x2": ["P1", "P2"], "x3": ["0", "1"]}
    data = container([[0.5, 0, 0, 1], [0, 1, 1, 0]])
    parts = openml_parts(held(data, [["1", "0"], ["0", "0"]], categories), TABLE["genbase"])
    assert parts.X.toarray().tolist() == [[0.5, 1, 1], [0, 0, 0]]  # x2 names the example
    assert parts.feature_names.tolist() == ["x0", "x1", "x3"]
    assert parts.Y.toarray().tolist() == [[1, 0], [0, 0]]


def test_other_targets_are_refused():
    with pytest.raises(ValueError, match="expected 0 and 1, or FALSE and TRUE"):
        openml_parts(held(np.ones((1, 1)), [["red"]], {}), TABLE["emotions"])


def test_unreachable_is_an_os_error(monkeypatch, tmp_path):
    def fail(**options):
        raise ValueError("Dataset with data_id 1 not found.")

    monkeypatch.setattr("prml.datasets.openml.fetch_openml", fail)
    with pytest.raises(OSError, match="OpenML did not give data set 1"):
        fetch_from_openml(OpenMLSource(1), TABLE["emotions"], tmp_path)

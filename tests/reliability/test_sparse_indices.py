"""What is here: sparse matrices whose indices lead out of them, through every door.

SciPy and scikit-learn turn such a matrix round without a look and the process dies, so what is
handed over is looked at before anything else happens to it.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from prml import PrBR, PrML, PrMLCV, TeacherTransfer
from prml.baselines import BinaryRelevance
from prml.metrics import evaluate
from prml.model_selection import (
    MultilabelCalibrator,
    MultilabelStratifiedKFold,
    ThresholdTuner,
    multilabel_train_test_split,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 5))
Y = (rng.random((40, 3)) < 0.4).astype(int)


def broken(matrix: np.ndarray, form: str, what: str):
    made = (sp.csr_matrix if form == "csr" else sp.csc_matrix)(matrix)
    if what == "index":
        made.indices[3] = 10**6
    elif what == "negative index":
        made.indices[3] = -(10**6)
    else:
        made.indptr[2] = 10**6
    return made


DOORS = {
    "PrBR": lambda X, Y: PrBR().fit(X, Y),
    "PrML": lambda X, Y: PrML().fit(X, Y),
    "PrMLCV": lambda X, Y: PrMLCV(losses=["squared"], gammas=[]).fit(X, Y),
    "BinaryRelevance": lambda X, Y: BinaryRelevance().fit(X, Y),
    "TeacherTransfer": lambda X, Y: TeacherTransfer(PrBR(loss="squared")).fit(X, Y),
    "ThresholdTuner": lambda X, Y: ThresholdTuner(PrBR(loss="squared")).fit(X, Y),
    "MultilabelCalibrator": lambda X, Y: MultilabelCalibrator(PrBR(loss="squared")).fit(X, Y),
    "train_test_split": lambda X, Y: multilabel_train_test_split(X, Y, random_state=0),
}


@pytest.mark.parametrize("what", ["index", "negative index", "row start"])
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("door", DOORS)
def test_features_and_labels_are_looked_at_first(door, form, what):
    with pytest.raises(ValueError, match=r"X is a CS[RC] matrix .* lead out of it"):
        DOORS[door](broken(X, form, what), Y)
    with pytest.raises(ValueError, match=r"Y is a CS[RC] matrix .* lead out of it"):
        DOORS[door](X, broken(Y, form, what))


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_so_are_folds_predictions_and_metrics(form):
    unsound = broken(Y, form, "index")
    with pytest.raises(ValueError, match="lead out of it"):
        list(MultilabelStratifiedKFold(2).split(X, unsound))
    with pytest.raises(ValueError, match="lead out of it"):
        evaluate(unsound, rng.normal(size=Y.shape))
    with pytest.raises(ValueError, match=r"scores is a .* lead out of it"):
        evaluate(Y, broken(rng.normal(size=Y.shape), form, "index"))
    with pytest.raises(ValueError, match=r"X is a .* lead out of it"):
        PrBR(loss="squared").fit(X, Y).predict(broken(X, form, "index"))

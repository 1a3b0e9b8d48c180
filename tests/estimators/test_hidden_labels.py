"""What is here: bibtex with three tenths of its labels hidden - what that costs."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize
from tests.model_selection.halves import halves_of

from prml import PrBR, PrML
from prml.metrics import average_precision


@pytest.mark.long
@pytest.mark.parametrize(
    "model",
    [
        PrML(C=0.1, n_jobs=2, random_state=0),
        PrBR(loss="squared_hinge", C=0.5, n_jobs=2, random_state=0),
        PrBR(loss="logistic", C=15.0, n_jobs=2, random_state=0),
    ],
    ids=["PrML", "PrBR-squared_hinge", "PrBR-logistic"],
)
def test_a_hidden_label_costs_little_and_is_not_a_negative_one(model):
    X, X_test, Y, Y_test = halves_of("bibtex")
    X, X_test = normalize(X), normalize(X_test)
    known = Y.toarray().astype(float)
    is_hidden = np.random.default_rng(0).random(known.shape) < 0.3

    def reached(labels):
        return average_precision(Y_test, model.fit(X, labels).decision_function(X_test))

    whole = reached(known)
    unknown = reached(np.where(is_hidden, np.nan, known))
    negative = reached(np.where(is_hidden, 0.0, known))
    print(f"all {whole:.4f}, hidden {unknown:.4f}, taken for negative {negative:.4f}")
    assert unknown > whole - 0.05
    assert unknown > negative

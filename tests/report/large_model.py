"""What is here: a fitted PrBR with as many labels as one likes, without the fit."""

import numpy as np
import scipy.sparse as sp

from prml import PrBR

HOSTILE = ("<script>alert(1)</script>", "</script><b>", "a & b", "\"'`", "${x}", "{{ 7 * 7 }}")


def large_model(n_labels=3993, n_features=40, n_samples=300, seed=0):
    """Return a model with teachers, and examples that it labels fairly well: (model, X, Y)."""
    rng = np.random.default_rng(seed)
    model = PrBR()
    model.n_features_in_, model._kind = n_features, "multilabel"
    model.objective_, model.dual_objective_, model.dual_gap_ = 10.0, 9.99, 0.001
    model.converged_, model.degenerate_labels_ = True, np.arange(0)
    model.history_ = [
        {"time": 0.1 * k, "objective": 10 + 9 / k, "dual_objective": 10 - 9 / k, "gap": 1 / k**3}
        for k in range(1, 11)
    ]
    model.coef_ = rng.normal(size=(n_labels, n_features)) / np.sqrt(n_features)
    model.intercept_ = -3.0 + 1.5 * rng.random(n_labels)
    names = [f"label {i:04d} of some length" for i in range(n_labels)]
    names[: len(HOSTILE)] = HOSTILE
    model.label_names_ = model.classes_ = np.array(names[:n_labels])
    weights = rng.normal(size=(n_labels, n_labels), scale=0.05).astype(np.float32)
    weights[rng.random(weights.shape) < 0.5] = 0.0
    np.fill_diagonal(weights, 0.0)
    model.privileged_coef_ = weights
    model.privileged_intercept_ = rng.random(n_labels)
    X = sp.csr_matrix(rng.normal(size=(n_samples, n_features)))
    scores = model.decision_function(X) + 0.3 * rng.normal(size=(n_samples, n_labels))
    return model, X, sp.csr_matrix(scores > 0)

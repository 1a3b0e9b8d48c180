"""
A kernel on yeast
=================

Dense features and a function that is not linear: *yeast* with the linear and the rbf kernel, exact
and through landmarks. Without the dataset, rings that no line separates stand in for it.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from prml import PrBR
from prml.datasets import load_dataset
from prml.metrics import average_precision

rng = np.random.default_rng(0)
try:
    data = load_dataset("yeast")
    X, Y = np.asarray(data.X), data.Y.toarray()
except OSError:  # no copy on disk, and none could be fetched
    X = rng.normal(size=(1200, 5))
    centres = rng.normal(size=(8, 5))
    Y = (np.linalg.norm(X[:, None] - centres, axis=2) < 2.2).astype(float)
order = rng.permutation(len(X))
train, test = order[: len(X) // 2], order[len(X) // 2 :]
scaler = StandardScaler().fit(X[train])
X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])

width = 0.3 / X.shape[1]
models = {
    "linear": PrBR(loss="squared_hinge", C=0.05, tol=1e-2),
    "rbf, 100 landmarks": PrBR(loss="squared_hinge", kernel="rbf", gamma=width, n_landmarks=100),
    "rbf, 400 landmarks": PrBR(loss="squared_hinge", kernel="rbf", gamma=width, n_landmarks=400),
    "rbf, all rows": PrBR(loss="squared_hinge", kernel="rbf", gamma=width),
}
precision, seconds = [], []
for model in models.values():
    if model.kernel == "rbf":
        model.set_params(C=0.7, tol=1e-2, random_state=0)
    begin = time.perf_counter()
    model.fit(X_train, Y[train])
    seconds.append(time.perf_counter() - begin)
    precision.append(average_precision(Y[test], model.decision_function(X_test)))

fig, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
bars = ax.barh(list(models), precision, color=["#8a93a0", "#7fc4cf", "#3f9fb0", "#0a7d91"])
ax.bar_label(bars, [f" {p:.3f} in {s:.1f} s" for p, s in zip(precision, seconds, strict=True)])
ax.set_xlim(min(precision) - 0.02, max(precision) + 0.02)
ax.invert_yaxis()
ax.set_xlabel("average precision")
plt.show()

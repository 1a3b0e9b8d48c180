"""
How many labels should comment?
===============================

``privileged=K`` lets the K nearest labels (by Hamming distance of their columns) teach each label;
the paper asks the same question. On *enron* where it is on disk, else on the Debian packages.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import normalize

from prml import PrBR
from prml.datasets import load_dataset, load_debtags
from prml.metrics import evaluate

try:
    data = load_dataset("enron")
except OSError:  # no copy on disk, and none could be fetched
    data = load_debtags()
X, Y = normalize(data.X), data.Y
order = np.random.default_rng(0).permutation(X.shape[0])
train, test = order[: len(order) // 2], order[len(order) // 2 :]

n_labels = Y.shape[1]
numbers = [0, 1, 2, 5, 10, 20, n_labels - 1]
names = ("ranking_loss", "coverage", "average_precision")
values: dict[str, list[float]] = {name: [] for name in names}
for K in numbers:
    model = PrBR(loss="squared_hinge", C=0.5, tol=1e-2, privileged=K or None)
    table = evaluate(Y[test], model.fit(X[train], Y[train]).decision_function(X[test]))
    for name in names:
        values[name].append(table[name])

# %%
# No teacher at the left, all other labels at the right.
fig, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
for ax, name in zip(axes, names, strict=True):
    ax.plot(range(len(numbers)), values[name], "o-", color="#0a7d91")
    ax.set_xticks(range(len(numbers)), [str(K) for K in numbers])
    ax.set_title(name.replace("_", " "))
    ax.set_xlabel("labels that comment")
plt.show()

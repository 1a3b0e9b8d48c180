"""
How many labels should comment?
===============================

``privileged=K`` lets the K nearest labels (by Hamming distance of their columns) teach each label;
the paper asks the same question. On *enron* where it is on disk, else on the Debian packages.

The honest comparison has two models without any commenting label: no teacher at all, and a teacher
that has its constant alone, a slack that is the same for every example of a label.
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
nobody = np.zeros((n_labels, n_labels), dtype=bool)
teachers = {"no teacher": None, "constant": nobody, "1": 1, "5": 5, "20": 20, "all": "all"}
names = ("ranking_loss", "coverage", "average_precision")
values: dict[str, list[float]] = {name: [] for name in names}
for privileged in teachers.values():
    model = PrBR(loss="squared_hinge", C=0.5, tol=1e-2, privileged=privileged)
    table = evaluate(Y[test], model.fit(X[train], Y[train]).decision_function(X[test]))
    for name in names:
        values[name].append(table[name])

# %%
# Most of the gain in ranking loss and coverage is the constant's: it brings the labels onto one
# scale. What the labels themselves add depends on the data.
fig, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
for ax, name in zip(axes, names, strict=True):
    ax.plot(range(len(teachers)), values[name], "o-", color="#0a7d91")
    ax.set_xticks(range(len(teachers)), list(teachers), rotation=60)
    ax.set_title(name.replace("_", " "))
plt.show()

"""
Missing labels
==============

Hide a growing share of the training labels. Written as NaN they cost little; read as absent they
teach the model that labels are rarer than they are.
"""

import matplotlib.pyplot as plt
import numpy as np

from prml import PrBR
from prml.datasets import load_debtags
from prml.metrics import average_precision, macro_f1

data = load_debtags()
train, test = data.train_idx[:1500], data.test_idx
full = data.Y[train].toarray()
rng = np.random.default_rng(0)
order = rng.random(full.shape)

shares = [0.0, 0.2, 0.4, 0.6]
curves: dict[str, list[tuple[float, float]]] = {"unknown (NaN)": [], "read as absent": []}
for share in shares:
    partial = np.where(order < share, np.nan, full)
    for name, Y in zip(curves, (partial, np.nan_to_num(partial)), strict=True):
        model = PrBR(loss="squared_hinge", tol=1e-2).fit(data.X[train], Y)
        scores = model.decision_function(data.X[test])
        truth = data.Y[test]
        curves[name].append((average_precision(truth, scores), macro_f1(truth, scores > 0)))

# %%
fig, axes = plt.subplots(1, 2, figsize=(7.2, 3), layout="constrained")
for which, (ax, title) in enumerate(zip(axes, ("average precision", "macro F1"), strict=True)):
    for (name, points), colour in zip(curves.items(), ("#0a7d91", "#b0413e"), strict=True):
        ax.plot(shares, [point[which] for point in points], "o-", label=name, color=colour)
    ax.set_xlabel("share of the entries hidden")
    ax.set_title(title)
axes[0].legend()
plt.show()

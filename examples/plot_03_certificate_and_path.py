"""
The certificate, and a path of solutions
========================================

Every fit has two bounds of its optimum that approach each other. Along a path over ``C`` each fit
starts from the last one.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from prml import PrBR, PrML
from prml.datasets import load_debtags
from prml.metrics import evaluate

data = load_debtags()
train, test = data.train_idx, data.test_idx
X, Y = data.X[train], data.Y[train]

# %%
# Bounds of PrML (low rank, hinge) on the twenty most frequent tags: the gap is the distance to the
# *global* optimum at most, whatever happens inside the solver.
frequent = np.argsort(-np.asarray(Y.sum(axis=0)).ravel())[:20]
model = PrML(C=0.3, tol=1e-2).fit(X[:1000], Y[:1000][:, frequent])
seconds = [record["time"] for record in model.history_]

fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
ax.semilogy(seconds, [max(record["gap"], 1e-4) for record in model.history_], "o-", color="#0a7d91")
ax.axhline(model.tol, color="0.5", linestyle=":")
ax.set_xlabel("seconds")
ax.set_ylabel("relative duality gap")
ax.set_title(f"rank {model.rank_}, certified to {model.dual_gap_:.3f}")
plt.show()

# %%
# A path: ranking loss and average precision against ``C``. The warm start pays from the second fit
# on.
path = PrBR(loss="squared_hinge", tol=1e-2, warm_start=True)
weights = np.geomspace(0.03, 10, 6)
loss, precision, cost = [], [], []
for C in weights:
    begin = time.perf_counter()
    path.set_params(C=C).fit(X, Y)
    cost.append(time.perf_counter() - begin)
    table = evaluate(data.Y[test], path.decision_function(data.X[test]))
    loss.append(table["ranking_loss"])
    precision.append(table["average_precision"])

fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3), layout="constrained")
left.semilogx(weights, loss, "o-", color="#b0413e")
left.set_xlabel("C")
left.set_ylabel("ranking loss")
right.semilogx(weights, precision, "o-", color="#0a7d91")
right.set_xlabel("C")
right.set_ylabel("average precision")
plt.show()
print(f"{len(weights)} fits in {sum(cost):.1f} s")

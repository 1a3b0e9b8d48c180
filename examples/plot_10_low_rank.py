"""
Low rank
========

:class:`prml.PrML` regularises the predictors of all labels together: ``gamma1`` decides how many
directions they share. Few examples and many labels are where that helps.
"""

import matplotlib.pyplot as plt
import numpy as np

from prml import PrML
from prml.metrics import average_precision

# Twenty labels that depend on three directions of thirty features, noisily.
rng = np.random.default_rng(0)
X = rng.normal(size=(700, 30))
hidden = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 20))
Y = (X @ hidden + 4 * rng.normal(size=(700, 20)) > 1).astype(int)
train, test = slice(0, 120), slice(120, None)

ranks, precision = [], []
weights = np.geomspace(1, 3000, 9)
model = PrML(loss="squared_hinge", C=0.5, tol=1e-2, warm_start=True)
for gamma1 in weights:
    model.set_params(gamma1=gamma1).fit(X[train], Y[train])
    ranks.append(model.rank_)
    precision.append(average_precision(Y[test], model.decision_function(X[test])))

fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3), layout="constrained")
left.semilogx(weights, ranks, "o-", color="#0a7d91")
left.axhline(3, color="0.5", linestyle=":")
left.set_title("rank of the predictors")
right.semilogx(weights, precision, "o-", color="#0a7d91")
right.set_title("average precision on new rows")
for ax in (left, right):
    ax.set_xlabel("gamma1")
plt.show()

# %%
# The certificate holds for every point of the path: the gap to the global optimum is at most
print(f"{model.dual_gap_:.4f} at the last one, of rank {model.rank_}.")

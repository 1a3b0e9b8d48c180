"""
Teachers of a label
===================

Who comments on whom. The teacher of a label is a linear function of the other labels; its weights
tell which labels explain the errors of which.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from prml import PrBR
from prml.datasets import load_debtags

data = load_debtags()
model = PrBR(loss="squared_hinge").fit(data.X[data.train_idx], data.Y[data.train_idx])
model.label_names_ = data.label_names

for label in ("sound::player", "use::editing"):
    print(label, [(name, round(weight, 2)) for name, weight in model.teachers(label, 4)])

# %%
# The thirty labels with the strongest relations, neighbours put side by side. Blue: an example that
# has the one label is excused from the other; red: it is not.
relations = model.label_relations(symmetric=True)
strongest = np.argsort(-np.abs(relations).max(axis=1))[:30]
part = relations[np.ix_(strongest, strongest)]
order = leaves_list(linkage(part, method="average"))
part, names = part[np.ix_(order, order)], data.label_names[strongest][order]

fig, ax = plt.subplots(figsize=(7.2, 6.2), layout="constrained")
largest = float(np.abs(part).max())
image = ax.imshow(part, cmap="RdBu", vmin=-largest, vmax=largest)
ax.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
ax.set_yticks(range(len(names)), names, fontsize=7)
fig.colorbar(image, label="slack that a present label adds", shrink=0.7)
plt.show()

# %%
# And for one package: what its other tags say when the model is wrong about *sound::player*.
row = data.package_names.tolist().index("cmus")
excuse = model.explain_slack("sound::player", data.Y[[row]], n=4)[0]
print(f"{data.package_names[row]}: {data.text[row]}")
print(f"slack {excuse.slack:.2f}, to anybody {excuse.baseline:.2f}, then {excuse.reasons}")

"""
The teacher at prediction time
==============================

A teacher that only helps in training is silent about a new example. :class:`prml.TeacherTransfer`
estimates the labels first, by models that never saw the row, and lets a second fit read the
estimates beside the features.
"""

import matplotlib.pyplot as plt

from prml import PrBR, TeacherTransfer
from prml.datasets import load_debtags
from prml.metrics import evaluate

data = load_debtags()
train, test = data.train_idx[:2000], data.test_idx
ridge = PrBR(loss="squared", privileged=None, C=0.3)
teacher = PrBR(loss="squared_hinge", C=0.5, tol=1e-2)
models = {
    "ridge": ridge,
    "teacher in training": teacher,
    "ridge, transferred": TeacherTransfer(ridge, cv=3),
    "teacher, transferred": TeacherTransfer(teacher, cv=3),
}
tables = {}
for name, model in models.items():
    model.fit(data.X[train], data.Y[train])
    tables[name] = evaluate(data.Y[test], model.decision_function(data.X[test]))

# %%
fig, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
colours = ["#8a93a0", "#7fc4cf", "#3f9fb0", "#0a7d91"]
for ax, name in zip(axes, ("average_precision", "ranking_loss", "one_error"), strict=True):
    values = [table[name] for table in tables.values()]
    ax.barh(list(tables), values, color=colours)
    ax.set_xlim(min(values) * 0.9, max(values) * 1.03)
    ax.set_title(name.replace("_", " "))
axes[0].invert_yaxis()
plt.show()

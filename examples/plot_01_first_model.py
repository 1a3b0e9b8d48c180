"""
A first model
=============

The tags of Debian packages, learned from one line of text each, by one-vs-rest LIBLINEAR and by
:class:`prml.PrBR` with the same loss: the only difference is that the other labels of an example
may excuse an error while a label is learned. Both are at their defaults. A part of the gain comes
from the teacher's constant alone: see the example on how many labels should comment.
"""

import matplotlib.pyplot as plt
import numpy as np

from prml import PrBR
from prml.baselines import BinaryRelevance
from prml.datasets import load_debtags
from prml.metrics import METRICS, SIX, evaluate

data = load_debtags()
train, test = data.train_idx, data.test_idx
models = {
    "LIBLINEAR": BinaryRelevance(loss="squared_hinge", random_state=0),
    "PrBR": PrBR(loss="squared_hinge"),
}
tables = {}
for name, model in models.items():
    model.fit(data.X[train], data.Y[train])
    tables[name] = evaluate(data.Y[test], model.decision_function(data.X[test]))
print(tables["PrBR"])

# %%
# The same numbers as the change that the teacher makes, in per cent of LIBLINEAR's value; to the
# right is better.
before = np.array([tables["LIBLINEAR"][name] for name in SIX])
after = np.array([tables["PrBR"][name] for name in SIX])
signs = np.array([METRICS[name].sign for name in SIX])
gain = 100 * signs * (after - before) / before

fig, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
ax.barh([METRICS[name].title for name in SIX], gain, color="#0a7d91")
ax.axvline(0, color="0.3", linewidth=0.8)
ax.invert_yaxis()
ax.set_xlabel("better by, % of LIBLINEAR's value")
plt.show()

# %%
# Tags for sentences of one's own:
sentences = ["graphical music player", "Python library for XML", "a desktop email client"]
rows = data.vectorizer.transform(sentences)
for sentence, present in zip(sentences, models["PrBR"].predict(rows), strict=True):
    print(f"{sentence}: {', '.join(data.label_names[present == 1])}")

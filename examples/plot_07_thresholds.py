"""
Thresholds and probabilities
============================

Scores rank; a cut decides. Four ways to choose it, all from cross-fitted scores of the training
data, and probabilities that mean what they say.
"""

import matplotlib.pyplot as plt

from prml import PrBR
from prml.datasets import load_debtags
from prml.metrics import evaluate, expected_calibration_error, reliability_curve
from prml.model_selection import MultilabelCalibrator, ThresholdTuner

data = load_debtags()
train, test = data.train_idx[:1500], data.test_idx
X, Y, X_test, truth = data.X[train], data.Y[train], data.X[test], data.Y[test]
model = PrBR(loss="squared_hinge", tol=1e-2)

names = ["micro_f1", "macro_f1", "example_f1"]
rows = {"score above 0": model.fit(X, Y).predict(X_test)}
for strategy in ("global", "per_label", "f_measure"):
    rows[strategy] = ThresholdTuner(model, strategy=strategy, cv=3).fit(X, Y).predict(X_test)
for name, predicted in rows.items():
    table = evaluate(truth, predicted, metrics=names)
    print(f"{name:15}" + "".join(f"  {metric} {table[metric]:.3f}" for metric in names))

# %%
# Reliability: among the entries that were given a probability of p, which share is present?
calibrated = MultilabelCalibrator(model, cv=3).fit(X, Y)
fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.plot([0, 1], [0, 1], ":", color="0.5")
answers = {"scores mapped to (0, 1)": model, "calibrated": calibrated}
for (name, answer), colour in zip(answers.items(), ("#b0413e", "#0a7d91"), strict=True):
    proba = answer.predict_proba(X_test)
    curve = reliability_curve(truth, proba, n_bins=12)
    error = expected_calibration_error(truth, proba)
    ax.plot(curve.predicted, curve.observed, "o-", label=f"{name}, ECE {error:.3f}", color=colour)
ax.set_xlabel("predicted probability")
ax.set_ylabel("observed share")
ax.legend()
plt.show()

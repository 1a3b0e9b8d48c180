"""What is here: thresholds and expected F1 by trying everything."""

import itertools

import numpy as np
from scipy.optimize import minimize

from prml.metrics import evaluate


def possible_cuts(values):
    values = np.unique(values)
    return np.concatenate([[values[0] - 1], (values[:-1] + values[1:]) / 2, [values[-1]]])


def naive_global_value(scores, Y, metric, sign):
    """Best value of a metric over every possible cut."""
    return max(
        sign * evaluate(Y, scores, cut=cut, metrics=[metric])[metric]
        for cut in possible_cuts(scores)
    )


def naive_label_value(scores, Y, metric, sign):
    """Best value of a metric over every combination of label cuts (few examples only)."""
    cuts = itertools.product(*(possible_cuts(column) for column in scores.T))
    values = [sign * evaluate(Y, scores, cut=np.array(c), metrics=[metric])[metric] for c in cuts]
    return np.nanmax(values)


def expected_f1(p, chosen):
    """Expected F1 of a set of independent labels, over all outcomes."""
    total = 0.0
    for outcome in itertools.product([0, 1], repeat=len(p)):
        outcome = np.array(outcome)
        chance = np.prod(np.where(outcome == 1, p, 1 - p))
        size = outcome.sum() + chosen.sum()
        total += chance * (1.0 if size == 0 else 2 * (outcome * chosen).sum() / size)
    return total


def best_expected_f1(p):
    return max(
        expected_f1(p, np.array(chosen)) for chosen in itertools.product([0, 1], repeat=len(p))
    )


def naive_sigmoid(scores, targets, center, precision):
    """Minimum of the penalised log-loss by a general optimiser."""

    def value(parameters):
        margin = parameters[0] * scores + parameters[1]
        difference = parameters - center
        log_loss = np.logaddexp(0, margin) - targets * margin
        return log_loss.sum() + 0.5 * difference @ precision @ difference

    return minimize(value, center, method="BFGS", options={"gtol": 1e-9}).fun

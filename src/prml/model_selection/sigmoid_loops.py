"""What is here: the compiled loop that fits a sigmoid to one label's scores."""

import numpy as np

from prml.loops.jit import jit


@jit
def fit_sigmoid(scores, targets, center, precision, start, free_slope, parameters):
    """Fit p = 1/(1 + exp(-(a s + b))) by Newton's method with halved steps; write (a, b).

    Minimises sum of the log-losses against `targets` in [0, 1] plus
    ``(parameters - center)' precision (parameters - center) / 2``. Without `free_slope` the slope
    stays at its start. Returns the minimum.
    """
    parameters[:] = start
    value = sigmoid_loss(scores, targets, center, precision, parameters[0], parameters[1])
    for _ in range(100):
        a, b = parameters[0], parameters[1]
        da, db = a - center[0], b - center[1]
        ga = precision[0, 0] * da + precision[0, 1] * db
        gb = precision[1, 0] * da + precision[1, 1] * db
        haa, hab, hbb = precision[0, 0], precision[0, 1], precision[1, 1]
        for i in range(scores.shape[0]):
            margin = a * scores[i] + b
            e = np.exp(-abs(margin))
            p = 1 / (1 + e) if margin >= 0 else e / (1 + e)
            w = e / ((1 + e) * (1 + e))
            ga += (p - targets[i]) * scores[i]
            gb += p - targets[i]
            haa += w * scores[i] * scores[i]
            hab += w * scores[i]
            hbb += w
        if free_slope:
            haa += 1e-12 * (1 + haa)
            hbb += 1e-12 * (1 + hbb)
            determinant = haa * hbb - hab * hab
            step_a = -(hbb * ga - hab * gb) / determinant
            step_b = -(haa * gb - hab * ga) / determinant
        else:
            step_a = 0.0
            step_b = -gb / (hbb + 1e-12)
        slope = (ga * step_a if free_slope else 0.0) + gb * step_b
        length = 1.0
        while length > 1e-10:
            new = sigmoid_loss(
                scores, targets, center, precision, a + length * step_a, b + length * step_b
            )
            if new <= value + 1e-4 * length * slope:
                break
            length *= 0.5
        if length <= 1e-10:
            return value
        parameters[0] = a + length * step_a
        parameters[1] = b + length * step_b
        value = new
        if -slope < 1e-11 * (1 + abs(value)):
            return value
    return value


@jit
def sigmoid_loss(scores, targets, center, precision, a, b):
    """Return the function that `fit_sigmoid` minimises."""
    da, db = a - center[0], b - center[1]
    value = 0.5 * (
        precision[0, 0] * da * da + 2 * precision[0, 1] * da * db + precision[1, 1] * db * db
    )
    for i in range(scores.shape[0]):
        margin = a * scores[i] + b
        # log(1 + exp(-|m|)) + max(m, 0) - t m is the log-loss without overflow
        value += np.log1p(np.exp(-abs(margin))) + max(margin, 0.0) - targets[i] * margin
    return value

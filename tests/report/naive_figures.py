"""What is here: slow, obvious twins of what the page computes."""

import numpy as np


def shifted_scores(margins, true, known, shift):
    """Return micro F1, macro F1, precision and recall when every cut moves by `shift`."""
    right = predicted = present = 0
    f1s = []
    for label in range(margins.shape[1]):
        r = p = t = 0
        for row in range(margins.shape[0]):
            if known is not None and not known[row, label]:
                continue
            chosen = margins[row, label] > shift
            r += chosen and true[row, label]
            p += chosen
            t += true[row, label]
        if p + t:
            f1s.append(2 * r / (p + t))
        right, predicted, present = right + r, predicted + p, present + t
    return (
        2 * right / (predicted + present) if predicted + present else np.nan,
        sum(f1s) / len(f1s) if f1s else np.nan,
        right / predicted if predicted else np.nan,
        right / present if present else np.nan,
    )


def at_cut(scores, true, cut):
    """Return precision and recall of one label at a cut."""
    chosen = [s > cut for s in scores]
    right = sum(c and t for c, t in zip(chosen, true, strict=True))
    return right / sum(chosen), right / sum(true)


def slack(weights, intercept, label, true, known):
    """Return the teacher's slack, label by label."""
    total = intercept
    for other, weight in enumerate(weights):
        if other != label and (known is None or known[other]):
            total += weight if true[other] else -weight
    return max(0.0, total)

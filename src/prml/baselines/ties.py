"""What is here: how the published comparisons ranked labels whose scores are equal."""

import numpy as np


def break_ties_by_label(scores: np.ndarray) -> np.ndarray:
    """Rank equal scores of an example by label index, the later label first.

    Sorting the scores in ascending order and reading from the end, as the metric code of much of
    the literature does, has this effect; ranking hard 0/1 outputs so reproduces published rows
    of binary relevance. The later labels are raised by less than 1e-9, alike for every example,
    so comparisons between examples (AUC) keep their ties, and votes their order.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.baselines import break_ties_by_label
    >>> np.argsort(-break_ties_by_label(np.array([[1.0, 0.0, 1.0, 0.0]]))).tolist()
    [[2, 0, 3, 1]]
    """
    scores = np.asarray(scores, dtype=np.float64)
    n_labels = scores.shape[1]
    return scores + np.arange(n_labels) * (1e-9 / n_labels)

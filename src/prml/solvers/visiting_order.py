"""What is here: the order in which a sweep visits the examples."""

import numpy as np

NEIGHBOURS = 8


def shuffled(rng: np.random.Generator, examples: np.ndarray) -> np.ndarray:
    """The examples in a random order of short runs.

    Coordinate descent wants a new random order for every sweep, memory wants rows read as they
    lie. With runs of eight a sweep of bibtex takes two thirds of the time and does as much.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.solvers.visiting_order import shuffled
    >>> order = shuffled(np.random.default_rng(0), np.arange(20))
    >>> order[:4].tolist(), sorted(order.tolist()) == list(range(20))
    ([16, 17, 18, 19], True)
    """
    n = len(examples)
    starts = NEIGHBOURS * rng.permutation(-(-n // NEIGHBOURS))
    order = (starts[:, None] + np.arange(NEIGHBOURS)).ravel()
    return examples[order[order < n]]

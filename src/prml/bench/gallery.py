"""What is here: the annotation gallery - true labels beside the five that a model puts first."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from prml.bench.protocol import Data, halves

MAX_SECONDS = 120.0  # of a fit; the ranking settles long before the gap


class Annotated(NamedTuple):
    """An example: name, true labels, and the top predictions with whether they are right."""

    name: str
    true: list[str]
    predicted: list[tuple[str, bool]]


class Gallery(NamedTuple):
    """The examples of one dataset."""

    title: str
    examples: list[Annotated]
    precision: float  # of the top five, over all test examples


def annotate(
    title: str,
    Y: Any,
    scores: np.ndarray,
    label_names: Sequence[str],
    names: Sequence[str],
    *,
    n_shown: int = 12,
    k: int = 5,
    seed: int = 0,
) -> Gallery:
    """Draw examples that have a label by lot and name their k best labels.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.bench.gallery import annotate
    >>> Y, scores = np.array([[1, 0, 1]]), np.array([[0.1, 0.9, 0.5]])
    >>> page = annotate("title", Y, scores, ["a", "b", "c"], ["x"], k=2)
    >>> page.examples[0].true, page.examples[0].predicted
    (['a', 'c'], [('b', False), ('c', True)])
    """
    Y = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y) > 0
    k = min(k, Y.shape[1])
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    right = np.take_along_axis(Y, top, axis=1)
    labelled = np.flatnonzero(Y.any(axis=1))
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.permutation(labelled)[:n_shown])
    examples = [
        Annotated(
            str(names[j]),
            [str(label_names[i]) for i in np.flatnonzero(Y[j]).tolist()],
            [
                (str(label_names[i]), bool(ok))
                for i, ok in zip(top[j].tolist(), right[j], strict=True)
            ],
        )
        for j in drawn.tolist()
    ]
    return Gallery(title, examples, float(right[labelled].mean()))


def corel5k_gallery(**options: Any) -> Gallery:
    """PrML on a half of corel5k: images stay unseen, their words are shown."""
    from prml import PrML
    from prml.bench.protocol import load_data

    data = load_data("corel5k")
    parts = halves(data, 0)
    model = PrML(C=0.03, tol=1e-2, max_time=MAX_SECONDS, random_state=0).fit(
        parts.X_train, parts.Y_train
    )
    names = [f"image {i}" for i in _test_rows(data)]
    scores = model.decision_function(parts.X_test)
    return annotate(
        "corel5k: words for images", parts.Y_test, scores, data.label_names, names, **options
    )


def debtags_gallery(**options: Any) -> Gallery:
    """PrML on the Debian packages of `load_debtags`, by its own split."""
    from prml import PrML
    from prml.datasets import load_debtags

    data = load_debtags()
    model = PrML(C=0.3, tol=1e-2, max_time=MAX_SECONDS, random_state=0)
    model.fit(data.X[data.train_idx], data.Y[data.train_idx])
    names = [f"{data.package_names[i]}: {data.text[i]}" for i in data.test_idx]
    scores = model.decision_function(data.X[data.test_idx])
    Y = data.Y[data.test_idx]
    return annotate("Debian packages: tags", Y, scores, data.label_names, names, **options)


def _test_rows(data: Data) -> list[int]:
    n = data.X.shape[0]
    return np.random.default_rng(0).permutation(n)[n // 2 :].tolist()

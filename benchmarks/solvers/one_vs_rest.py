"""What is here: what a user would run instead: LIBLINEAR on one label after the other."""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

from benchmarks.datasets import Split
from benchmarks.objective import Outcome, Task

LOGISTIC_C = (0.1, 1.0, 10.0)


def solve_svc(split: Split, task: Task) -> Outcome:
    """LinearSVC(loss="hinge") at its defaults, C = 1; the numbers of the task are not its own."""
    return fit_each_label(LinearSVC(loss="hinge", random_state=0), split, task.threads)


def tuned_logistic(split: Split) -> LogisticRegression:
    """Logistic regression whose C is best, over the most frequent labels, on the training half."""
    present = np.asarray(split.Y.sum(axis=0)).ravel()
    rarer_class = np.minimum(present, split.Y.shape[0] - present)
    frequent = [i for i in np.argsort(-rarer_class)[:5] if rarer_class[i] >= 3]
    losses = {}
    for C in LOGISTIC_C:
        model = LogisticRegression(C=C, solver="liblinear", random_state=0)
        scores = [
            cross_val_score(
                model, split.X, _column(split, i), scoring="roc_auc", cv=StratifiedKFold(3)
            )
            for i in frequent
        ]
        losses[C] = -float(np.nanmean(scores))
    return LogisticRegression(C=min(losses, key=losses.get), solver="liblinear", random_state=0)


def fit_each_label(model, split: Split, threads: int) -> Outcome:
    """Fit a copy of `model` to every label that has both classes, over threads."""

    def fit(i: int) -> bool:
        y = _column(split, i)
        if y.all() or not y.any():
            return True
        fitted = clone(model).fit(split.X, y)
        return bool(np.max(fitted.n_iter_) < fitted.max_iter)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its default number of iterations is often not enough
        done = Parallel(n_jobs=threads, backend="threading")(
            delayed(fit)(i) for i in range(split.Y.shape[1])
        )
    return Outcome(None, all(done))


def _column(split: Split, i: int) -> np.ndarray:
    return split.Y[:, [i]].toarray().ravel().astype(int)

"""What is here: the descent of the paper, stopped after a fixed number of sweeps.

The paper solves its duals by coordinate descent from alpha = beta = 0, one randomly picked
multiplier at a time (its Algorithm 1). Far from the optimum after any practical number of sweeps,
that descent is a model of its own, and some rows of the paper's table are those of this model and
not of the optimum. It is here to be compared with, not to be used.
"""

import time

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from prml.base import MultilabelEstimator
from prml.loops import svmplus as loops
from prml.loops.jit import jit
from prml.loops.rows import row_axpy, row_dot
from prml.privileged import LabelFeatures
from prml.solvers.training_set import Hyperparameters, TrainingSet


@jit
def sweep_one_at_a_time(p, order, alpha, beta, z, u, s):
    """Visit single multipliers in the given order: alpha_j for j < n, beta_{j-n} from n on.

    Each gets its exact optimum with all others fixed (lines 7-17 of Algorithm 1). beta has one
    entry an example, not a group. z, u and s are as in `prml.loops.svmplus.sweep`, on entry and on
    exit; all five arrays are written.
    """
    X, rows, sign, group, square, bound = p.X, p.rows, p.sign, p.group, p.square, p.upper
    indptr, indices, values, norm = p.indptr, p.indices, p.values, p.norm
    inverse = 1.0 / p.gamma2
    factor = p.n_teachers + p.teacher_bias
    n = len(rows)
    for k in range(len(order)):
        is_alpha = order[k] < n
        j = order[k] if is_alpha else order[k] - n
        g = group[j]
        total = factor * s[0] - s[1]
        for e in range(indptr[g], indptr[g + 1]):
            total += values[e] * (u[indices[e]] - s[0])
        gradient = total * inverse
        curvature = norm[g] * inverse
        if is_alpha:
            gradient += sign[j] * row_dot(X, rows[j], z) - 1.0
            curvature += p.omega * square[j]
        if curvature <= 0.0:
            continue
        if is_alpha:
            step = min(max(-gradient / curvature, -alpha[j]), bound[j] - alpha[j])
            alpha[j] += step
            row_axpy(X, rows[j], p.omega * step * sign[j], z)
        else:
            step = max(-gradient / curvature, -beta[j])
            beta[j] += step
        s[0] += step
        for e in range(indptr[g], indptr[g + 1]):
            change = values[e] * step
            u[indices[e]] += change
            s[1] += change


class StoppedPrBR(MultilabelEstimator):
    """PrBR as the paper's coordinate descent leaves it after `n_sweeps` sweeps: not an optimum.

    Parameters
    ----------
    C, gamma2, theta : float
        As in `prml.PrBR`; theta = inf is the paper's constraint.
    n_sweeps : int
        Visits to every multiplier, in random order.
    max_time : float, optional
        Seconds after which the remaining sweeps are left out.
    random_state : int, RandomState or None

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    n_iter_ : int
        Sweeps of the label that had the fewest.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.bench.stopped import StoppedPrBR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
    >>> StoppedPrBR(C=0.1, random_state=0).fit(X, Y).coef_.shape
    (3, 3)
    """

    def __init__(
        self, *, C=0.01, gamma2=1.0, theta=np.inf, n_sweeps=100, max_time=None, random_state=None
    ):
        self.C = C
        self.gamma2 = gamma2
        self.theta = theta
        self.n_sweeps = n_sweeps
        self.max_time = max_time
        self.random_state = random_state

    def fit(self, X, y):
        """Descend from zero on the dual of every label."""
        X, targets = self._read_training_data(X, y)
        training_set = TrainingSet(X, targets, LabelFeatures(targets))
        numbers = Hyperparameters(float(self.C), float(self.gamma2), float(self.theta))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n_labels = training_set.n_labels
        Z = np.zeros((n_labels, training_set.n_features + 1))
        start = time.perf_counter()
        self.n_iter_ = int(self.n_sweeps)
        for i in range(n_labels):
            problem = training_set.problem(i, numbers)
            rng = np.random.default_rng([seed, i])
            n = len(problem.rows)
            alpha, beta = np.zeros(n), np.zeros(n)
            u, s = np.empty(problem.n_teachers), np.empty(2)
            loops.dual_state(problem, alpha, np.zeros(len(problem.norm)), Z[i], u, s)
            for done in range(self.n_sweeps):
                spent = time.perf_counter() - start
                if self.max_time is not None and spent > self.max_time * (i + 1) / n_labels:
                    self.n_iter_ = min(self.n_iter_, done)
                    break
                sweep_one_at_a_time(problem, rng.permutation(2 * n), alpha, beta, Z[i], u, s)
        self.coef_, self.intercept_ = Z[:, :-1].copy(), Z[:, -1].copy()
        return self

    def _scores(self, X) -> np.ndarray:
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_

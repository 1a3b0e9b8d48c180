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
from prml.loops.rows import dense_rows, row_axpy, row_dot
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


def _descend(problem, n_sweeps: int, rng: np.random.Generator, is_late) -> tuple[np.ndarray, int]:
    """Sweep from alpha = beta = 0; return z and the number of sweeps done."""
    n = len(problem.rows)
    alpha, beta = np.zeros(n), np.zeros(n)
    z, u, s = np.empty_like(problem.centre), np.empty(problem.n_teachers), np.empty(3)
    loops.dual_state(problem, alpha, np.zeros(len(problem.norm)), z, u, s)
    for done in range(n_sweeps):
        if is_late():
            return z, done
        sweep_one_at_a_time(problem, rng.permutation(2 * n), alpha, beta, z, u, s)
    return z, n_sweeps


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
            limit = np.inf if self.max_time is None else self.max_time * (i + 1) / n_labels
            Z[i], done = _descend(
                training_set.problem(i, numbers),
                self.n_sweeps,
                np.random.default_rng([seed, i]),
                lambda limit=limit: time.perf_counter() - start > limit,
            )
            self.n_iter_ = min(self.n_iter_, done)
        self.coef_, self.intercept_ = Z[:, :-1].copy(), Z[:, -1].copy()
        return self

    def _scores(self, X) -> np.ndarray:
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


class StoppedPrML(MultilabelEstimator):
    """Algorithm 2 of the paper with few sweeps of its descent in each half-step: not an optimum.

    W given D, then D given W, each by `n_sweeps` sweeps from alpha = beta = 0, `n_rounds` times.

    Parameters
    ----------
    C, gamma1, gamma2, theta : float
        As in `prml.PrML`; theta = inf is the paper's constraint.
    n_components : int, optional
        Rows of D; as many as labels without it.
    n_rounds, n_sweeps : int
        The defaults make 100 sweeps.
    max_time : float, optional
        Seconds after which the remaining sweeps are left out.
    random_state : int, RandomState or None
        Decides the first D and the orders.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
    intercept_ : ndarray of shape (n_labels,)
    n_iter_ : int
        Half-steps done, whole ones only.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.bench.stopped import StoppedPrML
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3))
    >>> Y = (X @ rng.normal(size=(3, 3)) > 0).astype(int)
    >>> StoppedPrML(C=0.1, n_components=2, random_state=0).fit(X, Y).coef_.shape
    (3, 3)
    """

    def __init__(
        self, *, C=0.01, gamma1=1.0, gamma2=1.0, theta=np.inf, n_components=None, n_rounds=5,
        n_sweeps=10, max_time=None, random_state=None,
    ):  # fmt: skip
        self.C = C
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.theta = theta
        self.n_components = n_components
        self.n_rounds = n_rounds
        self.n_sweeps = n_sweeps
        self.max_time = max_time
        self.random_state = random_state

    def fit(self, X, y):
        """Alternate from a random D."""
        X, targets = self._read_training_data(X, y)
        training_set = TrainingSet(X, targets, LabelFeatures(targets))
        numbers = Hyperparameters(float(self.C), float(self.gamma2), float(self.theta))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        problems = [training_set.problem(i, numbers) for i in range(training_set.n_labels)]
        rngs = [np.random.default_rng([seed, i]) for i in range(training_set.n_labels)]
        limit = np.inf if self.max_time is None else time.perf_counter() + self.max_time

        def is_late() -> bool:
            return time.perf_counter() > limit

        k = self.n_components or training_set.n_labels
        D = random_dictionary(training_set, min(k, training_set.n_features + 1), seed)
        W = np.zeros((len(D), training_set.n_labels))
        self.n_iter_ = 0
        for _ in range(self.n_rounds):
            W = self._w_step(training_set, problems, D, rngs, is_late)
            self.n_iter_ += not is_late()
            if is_late() and self.n_iter_ > 1:
                break
            D = self._d_step(problems, W, D.shape[1], rngs, is_late)
            self.n_iter_ += not is_late()
            if is_late():
                break
        Z = W.T @ D
        self.coef_, self.intercept_ = Z[:, :-1].copy(), Z[:, -1].copy()
        return self

    def _w_step(self, training_set, problems, D, rngs, is_late) -> np.ndarray:
        """Eq. 6: every label by itself on the features D x."""
        rows = safe_sparse_dot(training_set.matrix, D[:, :-1].T, dense_output=True)
        rows = np.asarray(rows + D[:, -1], dtype=np.float64)
        square = np.einsum("jk,jk->j", rows, rows)
        W = np.empty((len(D), len(problems)))
        for i, problem in enumerate(problems):
            placed = problem._replace(
                X=dense_rows(rows, 0.0),
                square=square[problem.rows],
                omega=1.0 / float(self.gamma1),
                centre=np.zeros(len(D) + 1),
            )
            W[:, i] = _descend(placed, self.n_sweeps, rngs[i], is_late)[0][:-1]
        return W

    def _d_step(self, problems, W, width, rngs, is_late) -> np.ndarray:
        """Eq. 10 by Algorithm 1, label after label: z_i = G[i] @ M with G = W'W, and D = W M."""
        G = W.T @ W
        M = np.zeros((len(problems), width))
        states = []
        for problem in problems:
            n = len(problem.rows)
            u, s = np.empty(problem.n_teachers), np.empty(3)
            alpha, beta = np.zeros(n), np.zeros(n)
            loops.dual_state(problem, alpha, np.zeros(len(problem.norm)), np.empty(width), u, s)
            states.append((alpha, beta, u, s))
        for _ in range(self.n_sweeps):
            for i, (problem, (alpha, beta, u, s)) in enumerate(zip(problems, states, strict=True)):
                if G[i, i] <= 0.0 or is_late():
                    continue
                before = G[i] @ M
                z = before.copy()
                order = rngs[i].permutation(2 * len(problem.rows))
                placed = problem._replace(omega=float(G[i, i]))
                sweep_one_at_a_time(placed, order, alpha, beta, z, u, s)
                M[i] += (z - before) / G[i, i]
        return W @ M

    def _scores(self, X) -> np.ndarray:
        return safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_


def random_dictionary(training_set: TrainingSet, n_components: int, seed: int) -> np.ndarray:
    """A random D under which the features D x have entries of about 1; the paper names no start."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n_components, training_set.n_features + 1))
    return D / np.sqrt(max(training_set.squares.mean(), 1e-300))

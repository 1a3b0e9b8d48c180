"""What is here: the problem without the privileged intercept - can it be solved at all?

With the intercept a point is made feasible by raising it. Without, the slacks xi_g = <wt, v_g> >= 0
may force some groups to xi_g = 0 whatever wt is: those are found by a linear programme over the
distinct label vectors. With theta = inf the examples of such groups must then be separated with
margin 1 by the features alone, which a second linear programme decides.
"""

import numpy as np
import scipy.sparse as sp
from scipy.linalg import orth
from scipy.optimize import linprog

from prml.loops.svmplus import Csr, Problem
from prml.solvers.svmplus import Lift, intercept_lift


class InfeasibleError(ValueError):
    """No predictor satisfies the constraints of these labels."""

    def __init__(self, labels: list[int]):
        self.labels = labels
        super().__init__(f"labels {labels} are infeasible")


def teacher_vectors(problem: Problem) -> np.ndarray:
    """The distinct vectors v_g in full, (n_groups, n_teachers)."""
    shape = (len(problem.norm), problem.n_teachers)
    corrections = sp.csr_matrix((problem.values, problem.indices, problem.indptr), shape=shape)
    return corrections.toarray() - 1.0


def lift_direction(problem: Problem) -> Lift:
    """A direction of wt that raises every slack that can be raised, by at least 1."""
    if problem.teacher_bias:
        return intercept_lift(problem)
    n_groups, n_teachers = len(problem.norm), problem.n_teachers
    if n_teachers == 0:
        return Lift(np.zeros(0), 0.0, np.zeros(n_groups))
    V = teacher_vectors(problem)
    # maximise sum(t) over wt and 0 <= t <= 1 with V wt >= t: t_g = 1 for every group that can rise
    result = linprog(
        np.r_[np.zeros(n_teachers), -np.ones(n_groups)],
        A_ub=sp.hstack([-V, sp.eye(n_groups)]).tocsc(),
        b_ub=np.zeros(n_groups),
        bounds=[(None, None)] * n_teachers + [(0.0, 1.0)] * n_groups,
        method="highs",
    )
    if result.status != 0:
        return Lift(np.zeros(n_teachers), 0.0, np.zeros(n_groups))
    wt = result.x[:n_teachers]
    xi = V @ wt
    forced = xi < 0.5  # 0 up to the accuracy of the programme; the others are at least 1
    if not forced.any():
        return Lift(wt, 0.0, xi)
    basis = orth(V[forced].T)
    wt = wt - basis @ (basis.T @ wt)
    return Lift(wt, 0.0, np.where(forced, 0.0, V @ wt), basis)


def is_feasible(problem: Problem, lift: Lift) -> bool:
    """Whether any point satisfies the constraints; only theta = inf can make it fail."""
    hard = np.flatnonzero(np.isinf(problem.upper) & (lift.xi[problem.group] == 0.0))
    if len(hard) == 0:
        return True
    rows = problem.rows[hard]
    X = problem.X
    if isinstance(X, Csr):
        shape = (len(X.indptr) - 1, len(problem.centre) - 1)
        matrix = sp.csr_matrix((X.data, X.indices, X.indptr), shape=shape)[rows]
    else:
        matrix = sp.csr_matrix(X.values[rows])
    matrix = sp.hstack([matrix, np.full((len(rows), 1), X.bias)])
    signed = sp.diags(problem.sign[hard]) @ matrix
    result = linprog(
        np.zeros(signed.shape[1]),
        A_ub=-signed.tocsc(),
        b_ub=-np.ones(len(rows)),
        bounds=(None, None),
        method="highs",
    )
    return result.status == 0

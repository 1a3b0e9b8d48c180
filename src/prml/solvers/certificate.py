"""What is here: how far any predictor can be from the global optimum of PrML.

The dual of the convex problem: maximise sum(A) - gamma2/2 sum_i |wt_i|^2 over multipliers
0 <= A <= theta C, B >= 0 with sigma_max(M) <= sqrt(gamma1), where row i of M is
sum_j A_ij y_ij x_j and wt_i = (1/gamma2) sum_j (A_ij + B_ij - C) v_ij. From any multipliers,
t = min(1, sqrt(gamma1)/sigma_max(M)) makes (tA, B + (1-t)A) feasible and leaves every wt unchanged.
"""

from typing import NamedTuple

import numpy as np

from prml.loops import svmplus as loops
from prml.solvers.given_margins import fit_teacher
from prml.solvers.spectral import scale_into_ball
from prml.solvers.svmplus import cold_start, relative_gap
from prml.solvers.training_set import Hyperparameters, TrainingSet


class Certificate(NamedTuple):
    """Bounds of the global optimum: dual_objective <= optimum <= objective."""

    objective: float
    dual_objective: float
    rank: int

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.dual_objective)


def certify(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    gamma1: float,
    Z: np.ndarray,
    *,
    wt: list[np.ndarray] | None = None,
    wt0: np.ndarray | None = None,
    alpha: list[np.ndarray] | None = None,
    beta: list[np.ndarray] | None = None,
) -> Certificate:
    """Bound the optimum from a predictor Z (n_labels, n_features + 1) and multipliers.

    Without teachers the best ones for Z are sought; without multipliers the lower bound is that of
    the cold start, 0.
    """
    root = float(np.sqrt(gamma1))
    values = np.linalg.svd(Z, compute_uv=False)
    objective = root * float(values.sum())
    gains, costs = 0.0, 0.0
    M = np.zeros_like(Z)
    for i in range(training_set.n_labels):
        problem = training_set.problem(i, numbers)
        a, b = cold_start(problem) if alpha is None or beta is None else (alpha[i], beta[i])
        m = np.empty(len(problem.rows))
        loops.margins(problem, Z[i], m)
        u, s = np.empty(problem.n_teachers), np.empty(3)
        loops.dual_state(problem, a, b, M[i], u, s)
        own, own0 = (u - s[0]) / problem.gamma2, problem.teacher_bias * s[0] / problem.gamma2
        if wt is None:
            fit = fit_teacher(problem, m, own, own0, a, b, n_steps=20)
        else:
            fit = fit_teacher(
                problem, m, wt[i], 0.0 if wt0 is None else float(wt0[i]), a, b, n_steps=0
            )
        objective += fit.objective
        gains += float(a.sum())
        costs += 0.5 * problem.gamma2 * float(own @ own + own0 * own0)
    t = scale_into_ball(M, root)
    tiny = np.finfo(float).eps * max(Z.shape) * (values[0] if len(values) else 0.0)
    return Certificate(objective, t * gains - costs, int((values > tiny).sum()))

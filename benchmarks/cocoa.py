"""What is here: blocks of labels that add their steps (CoCoA+), simulated, to compare with.

With G = W W' fixed, the D-step of the paper minimises 1/2 tr(Z' G^-1 Z) + sum_i f_i(z_i); Z = G M
ties the labels together through M. K blocks that work from the same M and add what they found stay
safe when each multiplies the curvature of its own steps by K (sigma' = K): the more blocks, the
smaller the steps. One round is one sweep of every label.
"""

from collections.abc import Sequence

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.teacher import visit
from prml.solvers.given_margins import fit_teacher
from prml.solvers.label_state import LabelState
from prml.solvers.svmplus import relative_gap
from prml.solvers.training_set import Hyperparameters, TrainingSet

FLOOR = 0.03  # of the top eigenvalue is added to G, so that no direction is dead


def gram_of(Z: np.ndarray, gamma1: float) -> np.ndarray:
    """G = (Z Z')^(1/2) / sqrt(gamma1), at which the D-step has the optimum of the whole."""
    left, values, _ = np.linalg.svd(Z, full_matrices=False)
    G = (left * values) @ left.T / np.sqrt(gamma1)
    return G + FLOOR * values[0] / np.sqrt(gamma1) * np.eye(len(G))


def rounds_of_added_blocks(
    training_set: TrainingSet,
    numbers: Hyperparameters,
    G: np.ndarray,
    blocks: Sequence[np.ndarray],
    *,
    tol: float,
    max_rounds: int,
) -> int | None:
    """Rounds until the D-step at G is solved to the relative gap `tol`; None when not in time."""
    problems = [training_set.problem(i, numbers) for i in range(training_set.n_labels)]
    labels = [LabelState(p, np.random.default_rng([0, i])) for i, p in enumerate(problems)]
    M = np.array([label.m_row for label in labels])
    sigma, next_look = float(len(blocks)), 1.0
    for round in range(1, max_rounds + 1):
        Z = G @ M
        for block in blocks:
            step = np.zeros((len(block), M.shape[1]))
            for at, i in enumerate(block):
                label, omega = labels[i], sigma * G[i, i]
                z = Z[i] + sigma * (G[i, block] @ step)
                p = problems[i]._replace(omega=omega, centre=z - omega * label.m_row)
                order = label.rng.permutation(len(p.rows))
                state = (label.alpha, label.beta, label.m_row, label.u, label.s)
                visit(p, order, 1, *state, np.inf, 0.0, np.empty_like(order))
                step[at] = label.m_row - M[i]
        M = np.array([label.m_row for label in labels])
        if round >= next_look or round == max_rounds:
            next_look = max(round + 1.0, 1.15 * round)
            if _gap(problems, labels, G @ M, M) <= tol:
                return round
    return None


def _gap(problems, labels, Z, M) -> float:
    spread = 0.5 * float(np.sum(M * Z))
    objective, dual = spread, -spread
    for i, (problem, label) in enumerate(zip(problems, labels, strict=True)):
        m = np.empty(len(problem.rows))
        loops.margins(problem, Z[i], m)
        wt, wt0 = label.teacher(problem)
        objective += fit_teacher(problem, m, wt, wt0, label.alpha, label.beta).objective
        gain, cost = label.dual_parts()
        dual += gain - cost
    return relative_gap(objective, dual)

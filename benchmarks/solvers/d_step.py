"""What is here: our D-step at fixed G = W'W: label by label, no k x d work."""

import numpy as np

from prml.loops import svmplus as loops
from prml.loops.visiting_order import new_seed, shuffled
from prml.solvers.coupled_rows import CoupledRows
from prml.solvers.svmplus import cold_start, hold_on_offset
from prml.solvers.training_set import Hyperparameters, TrainingSet


class DStep:
    """Multipliers, M (rows sum_j alpha_ij y_ij x_j) and the teachers' sums of every label.

    Parameters
    ----------
    data : TrainingSet
    numbers : Hyperparameters
    G : ndarray of shape (n_labels, n_labels)
    """

    def __init__(self, data: TrainingSet, numbers: Hyperparameters, G: np.ndarray):
        self.G = G
        self.problems = [data.problem(i, numbers) for i in range(data.n_labels)]
        self.alpha, self.beta = map(list, zip(*map(cold_start, self.problems), strict=True))
        self.M = np.zeros((data.n_labels, data.n_features + 1))
        self.room = np.empty(data.n_samples, np.int64)
        self.kappa = [hold_on_offset(problem) for problem in self.problems]
        self.sums = []
        for problem, alpha, beta in zip(self.problems, self.alpha, self.beta, strict=True):
            u, s = np.empty(problem.n_teachers), np.empty(3)
            loops.dual_state(problem, alpha, beta, np.empty_like(problem.centre), u, s)
            self.sums.append((u, s))

    def epoch(self, rng: np.random.Generator) -> None:
        """Every pair (alpha_ij, beta_ij) once: z_i = G[i] @ M goes through label i's sweep."""
        rows = CoupledRows(self.G, self.M)
        for i, problem in enumerate(self.problems):
            omega = self.G[i, i]
            z = rows.row(i)
            centre = z - omega * self.M[i]
            turn = problem._replace(omega=omega, centre=centre)
            order = shuffled(np.arange(len(problem.rows)), new_seed(rng))
            state = (self.alpha[i], self.beta[i], z, *self.sums[i])
            loops.sweep(turn, order, *state, self.kappa[i], 0.0, self.room)
            rows.change(i, (z - centre) / omega)

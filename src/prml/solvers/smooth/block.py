"""What is here: the smooth problems of a block of labels, their values, derivatives, certificate.

With margins m = y * (X z) and slacks xi = V u, label i minimises

    |z - centre|^2 / (2 omega) + gamma2/2 |u|^2
        + sum_j c_j [ theta residual(m_j + xi_j) + cost(xi_j) ].

The unknowns are kept as z = centre + sqrt(omega) s and u = r / sqrt(gamma2): one column P = (s; r)
a label, whose regulariser is |P|^2 / 2. Then the multipliers that the slopes of the losses define
are dual feasible, and the duality gap they leave is half the squared length of the gradient:

    primal - dual = |gradient|^2 / 2.

So the certificate costs nothing, and it is true at every point.
"""

from typing import NamedTuple

import numpy as np

from prml.solvers.smooth.losses import SmoothLoss
from prml.solvers.smooth.operators import Examples, Teachers
from prml.solvers.training_set import Hyperparameters, TrainingSet

# Newton steps to the best constant: each brings the odds of a rare label down by e at least.
CONSTANT_STEPS = 30


class State(NamedTuple):
    """A point of every label of a block, with what follows from it.

    `t` = margins + slacks and `xi` = slacks match `P`; `objective` and `gap` are by label.
    """

    P: np.ndarray
    t: np.ndarray
    xi: np.ndarray | None
    gradient: np.ndarray
    objective: np.ndarray
    gap: np.ndarray


class Block:
    """The problems of some labels, solved side by side.

    Parameters
    ----------
    examples : Examples
    teachers : Teachers or None
        None: no slack at all.
    signs : ndarray of shape (n_samples, B)
        +1 or -1.
    costs : ndarray of shape (n_samples, B) or (n_samples, 1)
        C times the weight of every entry, 0 for a missing one.
    loss : SmoothLoss
    numbers : Hyperparameters
    omega : float
    centre : ndarray of shape (n_features + 1, B), optional
    """

    def __init__(
        self,
        examples: Examples,
        teachers: Teachers | None,
        signs: np.ndarray,
        costs: np.ndarray,
        loss: SmoothLoss,
        numbers: Hyperparameters,
        *,
        omega: float = 1.0,
        centre: np.ndarray | None = None,
    ):
        self.examples, self.teachers = examples, teachers
        self.signs, self.costs = signs, costs
        self.loss, self.numbers, self.omega = loss, numbers, omega
        self.n_own = examples.n_features + 1
        self.centre = centre
        self._fixed = None if centre is None else signs * examples.scores(centre)
        self._z_scale = np.sqrt(omega)
        self._u_scale = 1.0 / np.sqrt(numbers.gamma2)

    @property
    def n_unknowns(self) -> int:
        return self.n_own + (0 if self.teachers is None else self.teachers.shape[0])

    def take(self, columns: np.ndarray) -> "Block":
        """The problems of some of the labels."""
        return Block(
            self.examples,
            None if self.teachers is None else self.teachers.take(columns),
            self.signs[:, columns],
            self.costs if self.costs.shape[1] == 1 else self.costs[:, columns],
            self.loss,
            self.numbers,
            omega=self.omega,
            centre=None if self.centre is None else self.centre[:, columns],
        )

    def around(self, centre: np.ndarray, omega: float) -> "Block":
        """The same labels with another regulariser of z."""
        return Block(
            self.examples,
            self.teachers,
            self.signs,
            self.costs,
            self.loss,
            self.numbers,
            omega=omega,
            centre=centre,
        )

    def pack(self, Z: np.ndarray, U: np.ndarray | None) -> np.ndarray:
        """The unknowns of predictors and teachers."""
        s = (Z if self.centre is None else Z - self.centre) / self._z_scale
        if self.teachers is None:
            return s
        if U is None:
            U = np.zeros(self.teachers.shape)
        return np.vstack([s, self.teachers.hide(U / self._u_scale)])

    def unpack(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Predictors and teachers of the unknowns; the inverse of `pack`."""
        Z = self._z_scale * P[: self.n_own]
        if self.centre is not None:
            Z += self.centre
        return Z, None if self.teachers is None else self._u_scale * P[self.n_own :]

    def constants(self) -> np.ndarray:
        """The best predictors that see no features, their teachers silent: where to start.

        Newton's method for one number a label does not overshoot from 0, where every residual is
        as curved as anywhere.
        """
        P = np.zeros((self.n_unknowns, self.signs.shape[1]))
        bias, residual = self.examples.bias, self.loss.residual
        costs = self.numbers.theta * np.broadcast_to(self.costs, self.signs.shape)
        positive = np.einsum("ij,ij->j", costs, self.signs > 0.0)
        negative = costs.sum(axis=0) - positive
        intercept = P[self.n_own - 1]
        for _ in range(CONSTANT_STEPS if bias else 0):
            score = bias * intercept
            pull = positive * residual.slope(score) - negative * residual.slope(-score)
            bend = positive * residual.curvature(score) + negative * residual.curvature(-score)
            intercept -= (intercept + bias * pull) / (1.0 + bias * bias * bend)
        return P

    def entries(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """What a change S of the unknowns changes: (margins + slacks, slacks) of every entry."""
        t = self.examples.scores(S[: self.n_own])
        t *= self.signs
        if self.omega != 1.0:
            t *= self._z_scale
        if self.teachers is None:
            return t, None
        xi = self.teachers.slacks(S[self.n_own :])
        xi *= self._u_scale
        t += xi
        return t, xi

    def back(self, from_t: np.ndarray, from_xi: np.ndarray | None) -> np.ndarray:
        """The adjoint of `entries`."""
        own = self.examples.back(self.signs * from_t)
        if self.omega != 1.0:
            own *= self._z_scale
        if self.teachers is None:
            return own
        teacher = self.teachers.back(from_t + from_xi)
        teacher *= self._u_scale
        return np.vstack([own, teacher])

    def start(self, P: np.ndarray) -> State:
        """Evaluate the problems at P."""
        t, xi = self.entries(P)
        if self._fixed is not None:
            t += self._fixed
        return self.evaluate(P, t, xi)

    def evaluate(self, P: np.ndarray, t: np.ndarray, xi: np.ndarray | None) -> State:
        """Values and gradients at P, whose entries t and xi are known."""
        from_t, from_xi = self.slopes(t, xi)
        gradient = P + self.back(from_t, from_xi)
        objective = self.values(t, xi) + 0.5 * np.einsum("ij,ij->j", P, P)
        gap = 0.5 * np.einsum("ij,ij->j", gradient, gradient)
        return State(P, t, xi, gradient, objective, gap)

    def slopes(self, t, xi) -> tuple[np.ndarray, np.ndarray | None]:
        """Derivatives of every entry's loss by its margin, and of the cost by its slack."""
        from_t = self.loss.residual.slope(t)
        from_t *= self.numbers.theta * self.costs
        if xi is None:
            return from_t, None
        return from_t, self.costs * self.loss.cost.slope(xi)

    def values(self, t, xi) -> np.ndarray:
        """Losses of the labels without the regulariser, (B,)."""
        value = self.numbers.theta * self.loss.residual.value(t)
        if xi is not None:
            value += self.loss.cost.value(xi)
        if self.costs.shape[1] == 1:
            return self.costs[:, 0] @ value
        return np.einsum("ij,ij->j", self.costs, value)

    def dual_value(self, alpha: np.ndarray, slack: np.ndarray | None) -> float:
        """The dual value of multipliers of margins and slack costs, the term of z left out.

        sum c theta (-residual*)(-alpha / (c theta)) - c cost*(slack / c)
        - |V'(alpha - slack)|^2 / (2 gamma2); -inf when they are not feasible.
        """
        theta = self.numbers.theta
        # entries without cost have multipliers 0 and certify nothing
        safe = np.where(self.costs > 0.0, self.costs, 1.0)
        value = theta * self.loss.residual.dual(alpha / (theta * safe))
        if slack is None or self.teachers is None:
            return float((self.costs * value).sum())
        value -= self.loss.cost.dual(slack / safe)
        teacher = self._u_scale * self.teachers.back(alpha - slack)
        return float((self.costs * value).sum() - 0.5 * np.vdot(teacher, teacher))

    def curvatures(self, state: State) -> tuple[np.ndarray, np.ndarray | None]:
        """Second derivatives of every entry's residual and slack cost."""
        of_t = self.numbers.theta * self.costs * self.loss.residual.curvature(state.t)
        if state.xi is None:
            return of_t, None
        return of_t, self.costs * self.loss.cost.curvature(state.xi)

    def hessian_product(self, curvatures):
        """Return S -> (second derivative of every label's problem) S."""
        of_t, of_xi = curvatures

        def product(S: np.ndarray) -> np.ndarray:
            t, xi = self.entries(S)
            t *= of_t
            if xi is not None:
                xi *= of_xi
            out = self.back(t, xi)
            out += S
            return out

        return product


def make_block(
    training_set: TrainingSet,
    examples: Examples,
    labels: np.ndarray,
    loss: SmoothLoss,
    numbers: Hyperparameters,
    *,
    omega: float = 1.0,
    centre: np.ndarray | None = None,
) -> Block:
    """The block of some labels of a training set."""
    features = training_set.features
    n = training_set.n_samples
    signs = np.empty((n, len(labels)))
    for column, label in enumerate(labels):
        signs[:, column] = training_set.signs(label)
    if training_set.has_entry_weights:
        costs = np.empty((n, len(labels)))
        for column, label in enumerate(labels):
            costs[:, column] = numbers.C * training_set.weights(label)
    else:
        weight = training_set.sample_weight
        costs = np.full((n, 1), numbers.C) if weight is None else numbers.C * weight[:, None]
    teachers = Teachers(features, labels) if features.enabled else None
    return Block(examples, teachers, signs, costs, loss, numbers, omega=omega, centre=centre)

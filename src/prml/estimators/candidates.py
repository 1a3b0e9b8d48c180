"""What is here: the models that PrMLCV chooses among - what one is, how it is built, what is near.

A candidate fixes everything but the data. Its `weight` is that of an error the teacher does not
excuse, C * theta, so that members with and without a teacher are compared at the same weight.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from prml.estimators.feature_scaling import FeatureScaler
from prml.estimators.prbr import PrBR
from prml.estimators.prml import PrML
from prml.estimators.teacher_transfer import TeacherTransfer

STEP = 10.0**0.5  # between the weights of a path
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-3, 1e3
# Where the best weights lie compared with those of the squared loss, at full rank.
USUAL_WEIGHT = {"squared": 1.0, "squared_hinge": 1.0, "logistic": 10.0, "hinge": 1.0}
USUAL_WEIGHT_OF_LOW_RANK = {"squared": 0.3, "squared_hinge": 0.3, "logistic": 0.1, "hinge": 0.3}
# With more features than this, the squared loss with a teacher or a low rank is no longer cheap.
NARROW = 1500
# Kernels of more rows go through so many of them; twice as many when the rows are many.
LANDMARKS = 1000
MANY_ROWS = 10_000
# A second stage hears so many labels at most, the most frequent ones: its features are dense.
LARGEST_POOL = 500


@dataclass(frozen=True)
class Candidate:
    """One model to try.

    `theta` None: no teacher; `gamma` None: linear, else the width of an rbf kernel; `transfer`
    None: no scores of a first stage, else their scale.
    """

    scaling: str = "unit"
    loss: str = "squared"
    weight: float = 1.0
    theta: float | None = None
    gamma2: float = 1.0
    gamma: float | None = None
    low_rank: bool = False
    transfer: float | None = None
    passthrough: bool = True

    @property
    def family(self) -> "Candidate":
        """What is left when the weight is not looked at."""
        return replace(self, weight=1.0)

    @property
    def features(self) -> tuple[str, float | None]:
        return self.scaling, self.gamma

    @property
    def kind(self) -> tuple:
        """What makes members err in different places."""
        transfer = self.transfer is not None, self.passthrough
        return self.loss, self.gamma is None, self.theta is not None, self.low_rank, transfer

    @property
    def is_plain(self) -> bool:
        """Whether it has one stage and no teacher: the cheapest of its loss."""
        return self.transfer is None and self.theta is None and not self.low_rank

    @property
    def usual_weight(self) -> float:
        """Weight at which this family is best where the squared loss is best at 1."""
        factor = USUAL_WEIGHT[self.loss]
        return factor * USUAL_WEIGHT_OF_LOW_RANK[self.loss] if self.low_rank else factor

    @property
    def floor(self) -> float:
        """Below it scores say nothing more: every loss but the logistic one asks for -1."""
        return -math.inf if self.loss == "logistic" else -1.0

    def params(self) -> dict[str, Any]:
        """The candidate in the words of the estimators."""
        return {
            "scaling": self.scaling,
            "loss": self.loss,
            "C": self.weight / (self.theta or 1.0),
            "theta": self.theta or 1.0,
            "gamma2": self.gamma2,
            "privileged": None if self.theta is None else "all",
            "kernel": "linear" if self.gamma is None else "rbf",
            "gamma": self.gamma,
            "low_rank": self.low_rank,
            "transfer": self.transfer,
            "passthrough": self.passthrough,
        }


def describe(candidate: Candidate) -> str:
    """A candidate in a few words."""
    words = [candidate.scaling, candidate.loss, f"weight {candidate.weight:.3g}"]
    if candidate.gamma is not None:
        words.append(f"rbf {candidate.gamma:.3g}")
    if candidate.theta is not None:
        words.append(f"teacher (theta {candidate.theta:g}, gamma2 {candidate.gamma2:g})")
    if candidate.low_rank:
        words.append("low rank")
    if candidate.transfer is not None:
        words.append(
            f"transfer {candidate.transfer:g}" + ("" if candidate.passthrough else " only")
        )
    return ", ".join(words)


def make_learner(candidate: Candidate, n_samples: int, cv: int = 5, **run: Any) -> BaseEstimator:
    """Build what learns from scaled features; `run` are parameters of the run (tol, n_jobs ...)."""
    params = candidate.params()
    names = ("loss", "C", "theta", "gamma2", "privileged", "kernel", "gamma")
    settings = {name: params[name] for name in names} | run
    if candidate.transfer is not None and settings.get("max_time") is not None:
        settings["max_time"] /= cv + 2  # fits of both stages
    if candidate.gamma is not None and n_samples > LANDMARKS:
        settings["n_landmarks"] = LANDMARKS * (2 if n_samples > MANY_ROWS else 1)
    learner = (PrML if candidate.low_rank else PrBR)(**settings)
    if candidate.transfer is None:
        return learner
    return TeacherTransfer(
        learner,
        cv=cv,
        scale=candidate.transfer,
        pool=LARGEST_POOL,
        passthrough=candidate.passthrough,
    )


def make_pipeline(candidate: Candidate, n_samples: int, **run: Any) -> Pipeline:
    """Build the whole model, from raw features on."""
    learner = make_learner(candidate, n_samples, **run)
    return Pipeline([("scale", FeatureScaler(candidate.scaling)), ("model", learner)])


@dataclass(frozen=True)
class Space:
    """What may be tried; every part but the weights can be narrowed by the user."""

    losses: tuple[str, ...]
    scalings: tuple[str, ...]
    gammas: tuple[float, ...]
    teacher: bool
    transfer: bool
    low_rank: bool
    n_features: int
    n_labels: int

    def first_families(self) -> list[Candidate]:
        """Linear members of the cheapest loss, one a scaling."""
        return [Candidate(scaling=s, loss=self.losses[0]) for s in self.scalings]

    def kernel_families(self, scaling: str) -> list[Candidate]:
        return [Candidate(scaling=scaling, loss=self.losses[0], gamma=g) for g in self.gammas]

    def members(self, scaling: str, gamma: float | None) -> list[Candidate]:
        """Every kind of member on the same features."""
        # appended scores move a kernel's distances: half the size is enough there
        scale = 1.0 if gamma is None else 0.5
        found = []
        for loss in self.losses:
            plain = Candidate(scaling=scaling, loss=loss, gamma=gamma)
            found.append(plain)
            quick = loss != "squared" or self.n_features <= NARROW
            # two hinges for a transfer would be dear, and logistic is as good where they are
            if self.transfer and (loss in ("squared", "logistic") or len(self.losses) == 1):
                found.append(replace(plain, transfer=scale))
            if self.transfer and loss == "squared":  # cheap: as many features as labels
                found.append(replace(plain, transfer=1.0, passthrough=False))
            if self.teacher and quick and (loss != "hinge" or len(self.losses) == 1):
                found.append(replace(plain, theta=2.0))
            if self.low_rank and quick and gamma is None and loss in ("squared", "logistic"):
                found.append(replace(plain, low_rank=True))
        return found

    def neighbours(self, at: Candidate) -> list[Candidate]:
        """Candidates that differ from one in a single respect."""
        near = [replace(at, weight=at.weight * f) for f in (STEP**-0.5, STEP**0.5)]
        if at.gamma is not None:
            near += [replace(at, gamma=at.gamma * f) for f in (STEP**-0.5, STEP**0.5)]
        if self.transfer:
            scale = 1.0 if at.gamma is None else 0.5
            if at.transfer is None:
                near.append(replace(at, transfer=scale))
            else:
                near += [replace(at, transfer=at.transfer * f) for f in (0.5, 2.0)]
                near.append(replace(at, passthrough=not at.passthrough))
        if self.teacher:
            quick = at.loss != "squared" or self.n_features <= NARROW
            if at.theta is None and at.transfer is None and quick:
                near.append(replace(at, theta=4.0))
            elif at.theta is not None:
                near += [replace(at, theta=at.theta * f) for f in (0.5, 2.0)]
                near += [replace(at, gamma2=at.gamma2 * f) for f in (0.1, 10.0)]
        return near

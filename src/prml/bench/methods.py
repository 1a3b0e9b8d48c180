"""What is here: the table of compared methods - how each is built, and what is searched for it.

A name without a suffix is the method in the set-up of the paper's table. "-fair" is a baseline
tuned and ranked by its decision values, "-stopped" the paper's descent after 100 sweeps, "-theta"
the same objective with a finite price for errors that the teacher does not excuse, "-best" the
member of the family that cross-validation picks.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from prml.bench.provenance import BASELINES, FAMILY, code_version

Parameters = dict[str, Any]

MANY_LABELS = 1000  # the hinge takes half an hour to an hour to 1e-2: 1e-3 is not asked for


class Setting(NamedTuple):
    """What a builder may need to know of the cell it builds for."""

    n_labels: int
    seed: int
    jobs: int | None
    seconds: float | None  # time limit of one fit
    searching: bool  # a fit of the search, for which a looser gap is enough


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Attributes
    ----------
    name : str
    summary : str
        What it is, in the words of the report.
    group : {"paper", "fair", "family", "user"}
    build : callable (parameters, Setting) -> estimator
    grid : tuple of dict
        What the search tries, the likeliest first: a search that runs out of time keeps the best
        so far. One entry: nothing is searched.
    effort : float
        Guess of the time of a fit, in fits of LIBLINEAR one-vs-rest; orders cells never run.

    Examples
    --------
    >>> from prml.bench import METHODS
    >>> METHODS["PrML"].summary
    'low-rank SVM+, theta = inf, solved'
    """

    name: str
    summary: str
    group: str
    build: Callable[[Parameters, Setting], Any]
    grid: tuple[Parameters, ...] = field(default=({},))
    effort: float = 1.0

    @property
    def code(self) -> str:
        """Version of the code that decides this row; edits of other methods do not change it."""
        parts = FAMILY if self.group == "family" or self.name.startswith("Pr") else BASELINES
        return code_version(parts, f"{self.name} {self.summary} {self.grid}")


def grid(**axes: Iterable[Any]) -> tuple[Parameters, ...]:
    """Every combination of the values of the axes, the last one varying fastest.

    Examples
    --------
    >>> from prml.bench.methods import grid
    >>> grid(C=(1, 2), gamma2=(0.1,))
    ({'C': 1, 'gamma2': 0.1}, {'C': 2, 'gamma2': 0.1})
    """
    return tuple(dict(zip(axes, values, strict=True)) for values in product(*axes.values()))


def _linear(name: str, **fixed: Any) -> Callable[[Parameters, Setting], Any]:
    def build(parameters: Parameters, setting: Setting) -> Any:
        import prml.baselines as baselines

        return getattr(baselines, name)(
            **{**fixed, **parameters},
            n_jobs=setting.jobs,
            max_time=setting.seconds,
            random_state=setting.seed,
        )

    return build


def _ml2(parameters: Parameters, setting: Setting) -> Any:
    from prml.baselines import ML2

    return ML2(
        **parameters,
        n_jobs=setting.jobs,
        max_time=setting.seconds,
        random_state=setting.seed,
        n_landmarks=1000 if setting.searching else 2000,
        tol=1e-2 if setting.searching else 1e-3,
        qp_tol=1e-3 if setting.searching else 1e-4,
    )


def family_builder(name: str, **fixed: Any) -> Callable[[Parameters, Setting], Any]:
    """Build PrBR or PrML with these parameters; `rank_share` of n_labels bounds the rank."""

    def build(parameters: Parameters, setting: Setting) -> Any:
        import prml

        chosen = {**fixed, **parameters}
        unit_rows = chosen.pop("unit_rows", False)
        share = chosen.pop("rank_share", None)
        if share is not None:
            chosen["n_components"] = math.ceil(share * setting.n_labels)
        is_long = chosen.get("loss", "hinge") == "hinge" and setting.n_labels >= MANY_LABELS
        model = getattr(prml, name)(
            **chosen,
            tol=1e-2 if setting.searching or is_long else 1e-3,
            n_jobs=setting.jobs,
            max_time=setting.seconds,
            random_state=setting.seed,
        )
        return make_pipeline(Normalizer(), model) if unit_rows else model

    return build


def _stopped(parameters: Parameters, setting: Setting) -> Any:
    from prml.bench.stopped import StoppedPrBR

    return StoppedPrBR(**parameters, max_time=setting.seconds, random_state=setting.seed)


def _stopped_low_rank(parameters: Parameters, setting: Setting) -> Any:
    from prml.bench.stopped import StoppedPrML

    return StoppedPrML(
        **parameters,
        n_components=math.ceil(0.9 * setting.n_labels),
        max_time=setting.seconds,
        random_state=setting.seed,
    )


def _ridge(parameters: Parameters, setting: Setting) -> Any:
    from prml.bench.yardsticks import MultiOutputRidge

    return MultiOutputRidge(**parameters)


def _frequency(parameters: Parameters, setting: Setting) -> Any:
    from prml.bench.yardsticks import LabelFrequency

    return LabelFrequency(**parameters)


def _best_member(parameters: Parameters, setting: Setting) -> Any:
    from prml import PrMLCV

    return PrMLCV(
        cv=3,
        scoring="average_precision",
        n_jobs=setting.jobs,
        max_time=setting.seconds,
        random_state=setting.seed,
        verbose=0,
    )


SVM_C = (1.0, 0.1, 0.01, 10.0)
LOGISTIC_C = (1.0, 0.1, 10.0, 100.0)
# The ranges of the paper, log-spaced: C in [1e-3, 20], gamma2 in [.1, 2]; gamma1 = 1. Cheapest
# first: a time limit may leave no more than the first few.
PAPER_GRID = grid(C=(0.001, 0.01, 0.1, 1.0, 20.0), gamma2=(2.0, 0.1))
LEML_GRID = grid(alpha=(1.0, 10.0, 100.0, 0.1), n_components=(0.9, 0.5))
LOW_RANK_THETA_GRID = grid(
    C=(0.1, 0.5, 0.02), loss=("squared_hinge", "hinge"), unit_rows=(True, False)
)
THETA_GRID = grid(C=(0.1, 0.5, 0.02, 3.0), loss=("squared_hinge", "hinge"), unit_rows=(True, False))

_TABLE = (
    Method(
        "BR",
        "linear SVMs at C=1, hard outputs ranked",
        "paper",
        _linear("BinaryRelevance", C=1.0, scores="hard"),
    ),
    Method(
        "ECC",
        "10 chains of linear SVMs at C=1, votes ranked",
        "paper",
        _linear("ECC", C=1.0, scores="hard"),
        effort=15,
    ),
    Method(
        "RAkEL",
        "label triples at C=1, votes ranked",
        "paper",
        _linear("RAkEL", C=1.0, scores="hard"),
        effort=10,
    ),
    Method(
        "LEML",
        "low-rank ridge, alpha 1, rank .9 L, as released",
        "paper",
        _linear("LEML", n_components=0.9, alpha=1.0),
        effort=2,
    ),
    Method(
        "ML2", "label manifold and RBF regression, published constants", "paper", _ml2, effort=10
    ),
    Method(
        "PrBR",
        "one SVM+ a label, theta = inf, solved",
        "paper",
        family_builder("PrBR", theta=math.inf),
        PAPER_GRID,
        effort=2,
    ),
    Method(
        "PrML",
        "low-rank SVM+, theta = inf, solved",
        "paper",
        family_builder("PrML", theta=math.inf, rank_share=0.9),
        PAPER_GRID,
        effort=8,
    ),
    Method(
        "BR-fair",
        "linear SVMs, C searched, decision values",
        "fair",
        _linear("BinaryRelevance"),
        grid(C=SVM_C),
    ),
    Method(
        "ECC-fair",
        "10 chains, C searched, decision values",
        "fair",
        _linear("ECC"),
        grid(C=SVM_C[:3]),
        effort=15,
    ),
    Method(
        "RAkEL-fair",
        "label triples, C searched, decision values",
        "fair",
        _linear("RAkEL"),
        grid(C=SVM_C[:3]),
        effort=10,
    ),
    Method(
        "LEML-fair",
        "low-rank ridge, alpha and rank searched",
        "fair",
        _linear("LEML"),
        LEML_GRID,
        effort=2,
    ),
    Method(
        "ML2-fair",
        "label manifold, C1 and neighbours searched",
        "fair",
        _ml2,
        grid(C1=(1.0, 10.0, 0.1), n_neighbors=(10, 30)),
        effort=10,
    ),
    Method(
        "PrBR-stopped",
        "PrBR, 100 sweeps of the paper's descent: not an optimum",
        "family",
        _stopped,
        PAPER_GRID[:6],
        effort=8,
    ),
    Method(
        "PrML-stopped",
        "PrML, 100 sweeps of the paper's alternating descent: not an optimum",
        "family",
        _stopped_low_rank,
        PAPER_GRID[:6],
        effort=20,
    ),
    Method(
        "PrBR-theta",
        "PrBR, theta = 2, loss and C searched",
        "family",
        family_builder("PrBR", theta=2.0),
        THETA_GRID,
        effort=3,
    ),
    Method(
        "PrML-theta",
        "PrML, theta = 2, loss and C searched",
        "family",
        family_builder("PrML", theta=2.0),
        LOW_RANK_THETA_GRID,
        effort=8,
    ),
    Method(
        "PrML-best",
        "the family's best member by cross-validation (PrMLCV)",
        "family",
        _best_member,
        effort=60,
    ),
    Method(
        "logistic-newton",
        "one-vs-rest logistic regression with a free intercept: PrBR without a teacher, C searched",
        "family",
        family_builder("PrBR", theta=1.0, loss="logistic", privileged=None),
        grid(C=LOGISTIC_C),
        effort=2,
    ),
    Method(
        "logistic",
        "one-vs-rest logistic regression, C searched",
        "user",
        _linear("BinaryRelevance", loss="logistic"),
        grid(C=LOGISTIC_C),
        effort=4,
    ),
    Method(
        "ridge",
        "multi-output ridge regression, alpha searched",
        "user",
        _ridge,
        grid(alpha=(10.0, 100.0, 1.0, 1000.0, 0.1)),
        effort=0.3,
    ),
    Method(
        "frequency",
        "labels in the order of how often they occur; looks at no feature",
        "user",
        _frequency,
        effort=0.01,
    ),
)

METHODS = {method.name: method for method in _TABLE}


def is_available(method: Method) -> bool:
    """Whether the classes of a method are in this version of the package."""
    try:
        setting = Setting(n_labels=2, seed=0, jobs=1, seconds=None, searching=True)
        method.build(method.grid[0], setting)
    except (ImportError, AttributeError):
        return False
    return True


def choose_methods(names: Iterable[str] = ()) -> list[Method]:
    """The methods of these names, all available ones for none.

    Examples
    --------
    >>> from prml.bench.methods import choose_methods
    >>> [method.name for method in choose_methods(["prml", "BR"])]
    ['PrML', 'BR']
    """
    names = list(names)
    if not names:
        return [method for method in METHODS.values() if is_available(method)]
    by_lower = {name.lower(): method for name, method in METHODS.items()}
    chosen = []
    for name in names:
        method = by_lower.get(name.lower())
        if method is None:
            raise ValueError(f"there is no method {name!r}; expected one of {', '.join(METHODS)}.")
        if not is_available(method):
            raise ValueError(f"{method.name} is not in this version of prml.")
        chosen.append(method)
    return chosen

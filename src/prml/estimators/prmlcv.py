"""What is here: PrMLCV, the member of the family that suits the data, found by cross-validation."""

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.extmath import row_norms

from prml.base import MultilabelEstimator
from prml.estimators import parameters as allowed
from prml.estimators.blending import choose_raised_blend, known_mean
from prml.estimators.candidates import Candidate, Space, describe, make_pipeline
from prml.estimators.feature_scaling import SCALINGS
from prml.estimators.fold_scores import Folds
from prml.estimators.member_search import Search
from prml.live_line import LiveLine
from prml.metrics import evaluate, get_metric
from prml.model_selection.cross_fit import scores_of
from prml.model_selection.splits import MultilabelStratifiedKFold
from prml.monitor import Monitor
from prml.targets import Targets

LOSSES = ("squared", "logistic", "squared_hinge", "hinge")
SCREEN_TOL = 1e-2
MORE = 4  # times the rows of the screening, on the rung between these and all rows


class PrMLCV(MultilabelEstimator):
    """Choose loss, regularisation, scaling, kernel, teacher, transfer and rank by cross-validation.

    The estimator to begin with: raw features, no parameters. It screens the members of the family
    on some of the rows, compares the best, and what blends well with it, on all of them, climbs
    from the best to its neighbours, and fits the winner to all rows - or the best few, whose scores
    are averaged where that is better on every fold. Everything is chosen on stratified folds of the
    training data.

    Parameters
    ----------
    scoring : str
        The metric to be best in, a name of `prml.metrics`. With a single label a ranking of labels
        says nothing, and macro AUC takes the place of a metric that ranks them.
    cv : int, splitter or iterable of splits
        A number stands for that many folds of `MultilabelStratifiedKFold`.
    losses : sequence of {"squared", "logistic", "squared_hinge", "hinge"}
        Losses to try; the first one, which ought to be quick, screens the features.
    scalings : "auto" or sequence of {"none", "unit", "standard", "idf"}
        What may be done to the features first, see `FeatureScaler`; "auto" tries "none", "unit"
        (unless all rows have length 1) and, for sparse features, "idf", for dense ones "standard".
    gammas : sequence of float
        Widths of rbf kernels to try beside the linear one, for rows of length 1; empty for none.
    teacher : bool
        Whether to try labels that excuse each other's errors.
    transfer : bool
        Whether to try teachers that speak at prediction time, see `TeacherTransfer`.
    low_rank : bool
        Whether to try predictors of low rank.
    blend : int
        At most so many members are averaged; 1 for the single best. Of data with more than fifty
        million entries of Y only the single best is fitted.
    screen_samples : int
        Rows on which the screening is done. Where there are more than eight times as many, four
        times as many say who is tried on all of them.
    tol : float
        Relative duality gap of the last fit; the search is content with 0.01.
    max_time : float, optional
        Seconds; when they are nearly over, the best so far is fitted.
    n_jobs : int, optional
        Fits at once (threads). Without a time limit the result does not depend on it.
    random_state : int, RandomState instance or None
        Seed of the folds and of the rows drawn for screening; None gives the same every time.
    callbacks : callable or list of callables
        Called with a dict (`stage`, `score`, `best_score`, `best`, `n_samples` ...) after every few
        candidates; a true return value ends the search and the best so far is fitted.
    verbose : int, optional
        1 prints a line after every few candidates, 0 nothing. None shows the best so far in one
        line, redrawn, where a terminal or a notebook is watching and no callback is.

    Attributes
    ----------
    best_estimator_ : Pipeline
        Scaling and model, fitted to all rows; the first of the members.
    members_ : list of Pipeline
        What is averaged, the best first.
    member_params_ : list of dict
        As `best_params_`, of every member.
    member_factors_ : ndarray of shape (n_members,)
        What the scores of each are multiplied with before they are added.
    member_floors_ : ndarray of shape (n_members,)
        To what lower scores of each are raised before that: beside the log-odds of a logistic
        member, what others say of labels they are sure not to see is noise. -inf: they are not.
    blend_score_ : float
        Mean value of the metric over the folds, of the average.
    best_params_ : dict
        `scaling`, `loss`, `C`, `theta`, `gamma2`, `privileged`, `kernel`, `gamma`, `low_rank`,
        `transfer` (scale of the scores, or None) and `passthrough`.
    best_score_ : float
        Mean value of the metric over the folds.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of arrays
        A row for every candidate and number of rows it was tried on: `params`, `param_*`, `stage`,
        `n_samples`, `split*_test_score`, `mean_test_score`, `std_test_score`, `standard_error`,
        `rank_test_score` (those on the most rows come first), `mean_fit_time`. Where a time limit
        left time for one fold of all rows only, the others are NaN.
    scoring_ : str
        The metric used.
    n_splits_ : int
    history_ : list of dict
    stopped_by_ : str or None
        "time limit", "callback" or "interrupt" when the search was cut short.
    classes_, label_names_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from prml import PrMLCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 4))
    >>> Y = (X @ rng.normal(size=(4, 3)) > 0).astype(int)
    >>> model = PrMLCV(losses=["squared"], gammas=[]).fit(X, Y)
    >>> sorted(model.best_params_)[:4]
    ['C', 'gamma', 'gamma2', 'kernel']
    >>> model.predict(X[:2]).shape
    (2, 3)
    """

    _allow_missing_labels = True

    def __init__(
        self,
        *,
        scoring: str = "average_precision",
        cv: Any = 3,
        losses: Sequence[str] = LOSSES,
        scalings: str | Sequence[str] = "auto",
        gammas: Sequence[float] = (0.3, 1.0, 3.0),
        teacher: bool = True,
        transfer: bool = True,
        low_rank: bool = True,
        blend: int = 3,
        screen_samples: int = 800,
        tol: float = 1e-3,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.scoring = scoring
        self.cv = cv
        self.losses = losses
        self.scalings = scalings
        self.gammas = gammas
        self.teacher = teacher
        self.transfer = transfer
        self.low_rank = low_rank
        self.blend = blend
        self.screen_samples = screen_samples
        self.tol = tol
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Search, and fit the best candidate to all rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array, sparse matrix or DataFrame of shape (n_samples, n_labels), or 1-D
            0 and 1, NaN for a missing label; a 1-D y may be binary or multiclass.
        groups : array of shape (n_samples,), optional
            Rows of one group stay on one side of every split.

        Returns
        -------
        self
        """
        allowed.check_parameters(
            self,
            {
                "blend": allowed.COUNT,
                "screen_samples": allowed.COUNT,
                "tol": allowed.POSITIVE,
                "max_time": allowed.POSITIVE_OR_NONE,
                "teacher": allowed.YES_NO,
                "transfer": allowed.YES_NO,
                "low_rank": allowed.YES_NO,
            },
        )
        metric = get_metric(self.scoring)
        X, targets = self._read_training_data(X, y)
        X, groups = indexable(X, groups)
        if targets.n_labels == 1 and metric.part in ("ranks", "top"):
            metric = get_metric("macro_auc")
        self.scoring_ = metric.name
        labels = learnable_labels(targets)
        seed = int(check_random_state(self.random_state or 0).randint(2**31 - 1))
        with LiveLine() as line:
            callbacks = self.callbacks
            if callbacks is None and self.verbose is None:
                callbacks = partial(_show, line)
            monitor = Monitor(callbacks, self.max_time, int(self.verbose or 0))
            search = Search(
                self._space(X, targets.n_labels), monitor, metric.sign, self.n_jobs, self.blend > 1
            )
            rungs = self._rungs(X, labels, targets, groups, seed, monitor)
            search.run(rungs)
            self._store(search, metric.sign)
            members = self._chosen(search, rungs[-1])
            self._fit_members(X, labels, members, search.seconds(), monitor, seed)
        self.history_, self.stopped_by_ = monitor.history, monitor.stopped_by
        return self

    def _space(self, X, n_labels: int) -> Space:
        losses = _choices(self.losses, LOSSES, "losses")
        if isinstance(self.scalings, str) and self.scalings == "auto":
            scalings: tuple[str, ...] = ("none", "idf" if sp.issparse(X) else "standard")
            if not _has_unit_rows(X):
                scalings = ("unit", *scalings)
        else:
            scalings = _choices(self.scalings, SCALINGS, "scalings")
        gammas = tuple(float(gamma) for gamma in self.gammas)
        if not all(0 < gamma < np.inf for gamma in gammas):
            raise ValueError(f"PrMLCV: gammas is {self.gammas!r}; expected numbers above 0.")
        kinds = self.teacher, self.transfer, self.low_rank
        return Space(losses, scalings, gammas, *kinds, X.shape[1], n_labels)

    def _rungs(
        self, X, labels, targets: Targets, groups, seed: int, monitor: Monitor
    ) -> list[Folds]:
        """The folds of few rows, of more, and of all; fewer of these where rows are few."""
        n_samples = targets.n_samples
        cv = self.cv
        if isinstance(cv, int | np.integer):
            shuffled = self.random_state is not None
            cv = MultilabelStratifiedKFold(
                int(cv), shuffle=shuffled, random_state=seed if shuffled else None
            )
        splits = list(check_cv(cv).split(X, targets.positives, groups))
        self.n_splits_ = len(splits)
        few = int(self.screen_samples)
        smaller = [few] if n_samples > 1.25 * few else []
        if n_samples > 2 * MORE * few:
            smaller.append(MORE * few)
        rungs = []
        for size in smaller:
            drawn = np.zeros(n_samples, dtype=bool)
            drawn[np.random.default_rng(seed).choice(n_samples, size, replace=False)] = True
            rungs.append([(train[drawn[train]], test[drawn[test]]) for train, test in splits])
        common = (self.scoring_, SCREEN_TOL, seed, monitor)
        return [Folds(X, labels, some, *common) for some in (*rungs, splits)]

    def _store(self, search: Search, sign: int) -> None:
        """Set the table and what is best in it."""
        scored = search.scored
        mean = np.array([s.mean for s in scored])
        rows = np.array([s.n_samples for s in scored])
        merit = np.where(np.isnan(mean), -np.inf, sign * mean)
        order = np.lexsort((np.arange(len(scored)), -merit, -rows))
        rank = np.empty(len(scored), dtype=np.int64)
        rank[order] = np.arange(1, len(scored) + 1)
        params = [s.candidate.params() for s in scored]
        table: dict[str, Any] = {"params": params}
        for name in params[0]:
            table[f"param_{name}"] = np.array([p[name] for p in params], dtype=object)
        table["stage"] = np.array(search.stages)
        table["n_samples"] = rows
        for k in range(self.n_splits_):
            table[f"split{k}_test_score"] = np.array([s.values[k] for s in scored])
        table["mean_test_score"] = mean
        table["std_test_score"] = np.array([s.values.std() for s in scored])
        table["standard_error"] = np.array([s.standard_error for s in scored])
        table["rank_test_score"] = rank
        table["mean_fit_time"] = np.array([s.seconds.mean() for s in scored])
        self.cv_results_ = table
        self.best_index_ = scored.index(search.best())
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])

    def _chosen(self, search: Search, every: Folds) -> list[Candidate]:
        """The members to be fitted; sets their factors and what they reach together."""
        best = search.best()
        pool = search.pool(every)
        if self.blend == 1 or not pool or pool[0] is not best:  # a search cut short has no pool
            self.member_factors_, self.blend_score_ = np.ones(1), self.best_score_
            self.member_floors_ = np.full(1, -np.inf)
            return [best.candidate]
        scores = [every.scores[s.candidate] for s in pool]
        floors = np.array([s.candidate.floor for s in pool])
        found, self.member_floors_ = choose_raised_blend(
            scores, floors, every.values_of, search.sign, int(self.blend)
        )
        self.member_factors_ = found.factors
        self.blend_score_ = known_mean(found.values)
        return [pool[k].candidate for k in found.members]

    def _fit_members(
        self, X, labels, members: list[Candidate], seconds: dict, monitor: Monitor, seed: int
    ) -> None:
        self.member_params_ = [member.params() for member in members]
        self.members_: list[Any] = []
        run = {"tol": self.tol, "n_jobs": self.n_jobs, "random_state": seed}
        for member in members:
            if self.max_time is not None:
                # what the search left; no less than it takes to come as near as in the search
                run["max_time"] = max(monitor.remaining, 2.0 * seconds[member])
            model = make_pipeline(member, X.shape[0], **run)
            with warnings.catch_warnings():
                # rare labels are constant in any model that was chosen for its ranking
                warnings.filterwarnings("ignore", message="For .* the optimum cannot be told from")
                warnings.filterwarnings("ignore", category=ConvergenceWarning)
                self.members_.append(model.fit(X, labels))
            limits = [name for name in model.get_params() if name.endswith("max_time")]
            model.set_params(**dict.fromkeys(limits))  # it was ours, not that of a clone
        self.best_estimator_ = self.members_[0]
        monitor.record(
            iteration=len(self.cv_results_["params"]),
            stage="fitted",
            best_score=self.blend_score_,
            best=" + ".join(describe(member) for member in members),
        )

    def _scores(self, X) -> np.ndarray:
        parts = zip(self.members_, self.member_floors_, self.member_factors_, strict=True)
        return np.sum(
            [factor * np.maximum(scores_of(member, X), floor) for member, floor, factor in parts],
            axis=0,
        )

    def predict_proba(self, X) -> np.ndarray:
        """Map scores to (0, 1): the mean of what the members say; see their `predict_proba`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels); after a fit on a 1-D y one column a class, rows
        summing to 1.
        """
        X = self._check_predict_data(X)
        chances = [member.predict_proba(X) for member in self.members_]
        return self._by_class(np.mean(chances, axis=0))

    def score(self, X, y, sample_weight=None) -> float:
        """The metric of the search, negated where lower is better; accuracy for a 1-D y."""
        if getattr(self, "_kind", None) != "multilabel":
            return super().score(X, y, sample_weight)
        metric = get_metric(self.scoring_)
        scores = self.decision_function(X)
        return metric.sign * evaluate(y, scores, metrics=[metric.name])[metric.name]


def _show(line: LiveLine, record: dict[str, Any]) -> None:
    tried = f"{record['time']:.0f} s, {record['iteration']} tried"
    line.show(f"PrMLCV: {tried}, best {record['best_score']:.4f}, {record['best']}")


def _has_unit_rows(X: Any) -> bool:
    return bool(np.allclose(row_norms(X, squared=True), 1.0, rtol=1e-5))


def learnable_labels(targets: Targets) -> Any:
    """Y as every member reads it: CSR of ones, or dense with NaN where a label is unknown."""
    if targets.missing is None:
        return targets.positives
    labels = targets.positives.toarray()
    labels[targets.missing.astype(bool).toarray()] = np.nan
    return labels


def _choices(given: Any, known: tuple[str, ...], name: str) -> tuple[str, ...]:
    chosen = (given,) if isinstance(given, str) else tuple(given)
    wrong = [choice for choice in chosen if choice not in known]
    if wrong or not chosen:
        raise ValueError(f"PrMLCV: {name} is {given!r}; expected some of {', '.join(known)}.")
    return chosen

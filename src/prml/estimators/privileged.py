"""What is here: what PrBR and PrML share - reading the data, keeping the teachers, scores."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import _check_sample_weight

from prml.base import MultilabelEstimator
from prml.estimators import parameters as allowed
from prml.estimators.understanding import UnderstandingMixin
from prml.kernels import FeatureMap, Kernel, default_gamma, kernel_features, kernel_scores
from prml.monitor import Monitor
from prml.privileged import LabelFeatures, read_pools
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.smooth.labelwise import smooth_multipliers
from prml.solvers.smooth.losses import LOSSES
from prml.solvers.training_set import Hyperparameters, TrainingSet
from prml.targets import Targets


class PrivilegedEstimator(UnderstandingMixin, MultilabelEstimator):
    """Base of the estimators whose labels comment on each other while they are learned."""

    _allow_missing_labels = True
    _parameter_table: ClassVar[dict[str, allowed.Check]] = {
        "C": allowed.POSITIVE,
        "gamma2": allowed.POSITIVE,
        "theta": allowed.POSITIVE_OR_INF,
        "loss": allowed.one_of("hinge", *LOSSES),
        "kernel": allowed.one_of_or_callable("linear", "rbf", "poly", "precomputed"),
        "gamma": allowed.POSITIVE_OR_NONE,
        "degree": allowed.POSITIVE,
        "coef0": allowed.NON_NEGATIVE,
        "n_landmarks": allowed.COUNT_OR_NONE,
        "privileged_intercept": allowed.YES_NO,
        "fit_intercept": allowed.YES_NO,
        "tol": allowed.POSITIVE,
        "max_iter": allowed.COUNT,
        "max_time": allowed.POSITIVE_OR_NONE,
        "warm_start": allowed.YES_NO,
        "keep_duals": allowed.YES_NO,
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the predictors of all labels.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array, sparse matrix or DataFrame of shape (n_samples, n_labels), or 1-D
            0 and 1, NaN for a missing label; a 1-D y may be binary or multiclass.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        training_set, numbers = self._read_problem(X, y, sample_weight)
        monitor = self._monitor()
        if self.loss == "hinge":
            self._fit_hinge(training_set, numbers, monitor)
        else:
            self._fit_smooth(training_set, numbers, monitor)
        self._keep_landmarks(training_set.feature_map)
        self.history_ = monitor.history
        self.converged_ = self.dual_gap_ <= self.tol
        self.stopped_by_ = None if self.converged_ else monitor.stopped_by
        if not self.converged_ and self.stopped_by_ is None:
            self._warn_of_the_gap()
        self._warn_of_degenerate_labels()
        return self

    def _fit_hinge(
        self, training_set: TrainingSet, numbers: Hyperparameters, monitor: Monitor
    ) -> None:
        raise NotImplementedError

    def _fit_smooth(
        self, training_set: TrainingSet, numbers: Hyperparameters, monitor: Monitor
    ) -> None:
        raise NotImplementedError

    def _warn_of_the_gap(self) -> None:
        warnings.warn(
            f"{type(self).__name__} stopped at a relative duality gap of {self.dual_gap_:.2g} "
            f"(tol is {self.tol:g}); {self._gap_advice()}.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _gap_advice(self) -> str:
        return "raise max_iter, or scale the features"

    def _read_problem(self, X, y, sample_weight) -> tuple[TrainingSet, Hyperparameters]:
        """Check everything the user gave and prepare it for the solvers."""
        allowed.check_parameters(self, self._parameter_table)
        X, targets = self._read_training_data(X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not sample_weight.any():  # newer versions of scikit-learn say so themselves
                raise ValueError(
                    "sample_weight is 0 for every example; expected at least one non-zero weight."
                )
        has_teacher, pools = read_pools(self.privileged, targets.positives)
        if not has_teacher and np.isinf(self.theta):
            raise ValueError(
                "theta is inf and privileged is None: without a teacher to excuse it, every "
                "example would have to be separated; expected a finite theta."
            )
        if np.isinf(self.theta) and self.loss != "hinge":
            raise ValueError(
                f"theta is inf and loss is {self.loss!r}: only the hinge has a limit in which no "
                "residual is allowed; expected a finite theta."
            )
        sample_weight, class_weight = self._entry_weights(y, targets, sample_weight)
        features = LabelFeatures(targets, pools, self.privileged_intercept, enabled=has_teacher)
        feature_map = None if self._is_linear else self._feature_map(X)
        training_set = TrainingSet(
            X if feature_map is None else feature_map.features,
            targets,
            features,
            self.fit_intercept,
            sample_weight,
            class_weight,
            feature_map,
        )
        return training_set, Hyperparameters(float(self.C), float(self.gamma2), float(self.theta))

    def _entry_weights(self, y, targets: Targets, sample_weight):
        """Combine sample_weight and class_weight: weights of examples, weights of entries."""
        if self.class_weight is None:
            return sample_weight, None
        if targets.kind != "multilabel":  # one class an example: a weight of the example
            by_class = compute_sample_weight(self.class_weight, np.ravel(y))
            return (by_class if sample_weight is None else by_class * sample_weight), None
        n_labels = targets.n_labels
        if self.class_weight == "balanced":
            present, known = targets.present, targets.known
            absent = known - present
            return sample_weight, (
                known / (2.0 * np.maximum(absent, 1.0)),
                known / (2.0 * np.maximum(present, 1.0)),
            )
        weight = self.class_weight
        if not isinstance(weight, dict) or not set(weight) <= {0, 1}:
            raise ValueError(
                f"class_weight is {weight!r}; expected None, 'balanced', or a dict of the weights "
                "of absent (0) and present (1) labels."
            )
        accepts, expected = allowed.NON_NEGATIVE
        for value, factor in weight.items():
            if not accepts(factor):
                raise ValueError(f"class_weight of {value} is {factor!r}; expected {expected}.")
        return sample_weight, (
            np.full(n_labels, float(weight.get(0, 1.0))),
            np.full(n_labels, float(weight.get(1, 1.0))),
        )

    def _monitor(self) -> Monitor:
        return Monitor(self.callbacks, self.max_time, int(self.verbose))

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _no_solution(self, error: InfeasibleError) -> ValueError:
        names = ", ".join(str(self.label_names_[i]) for i in error.labels)
        return ValueError(
            "theta=inf without the privileged intercept has no solution for the label(s) "
            f"{names}; set privileged_intercept=True or a finite theta."
        )

    def _warn_of_degenerate_labels(self) -> None:
        degenerate = self.degenerate_labels_
        if len(degenerate) == 0:
            return
        shown = ", ".join(map(str, self.label_names_[degenerate[:10]]))
        more = f" and {len(degenerate) - 10} more" if len(degenerate) > 10 else ""
        # measured on yeast: a finite theta helps some labels, the squared hinge all of them
        if np.isinf(self.theta):
            advice = (
                "a finite theta (2.0) may give them a predictor, with loss='squared_hinge' it does"
            )
        elif self.loss == "hinge":
            advice = "loss='squared_hinge' gives them a predictor, a larger C or a smaller tol may"
        else:
            advice = "a larger C or a smaller tol may give them a predictor"
        warnings.warn(
            f"For {len(degenerate)} of {self.n_labels_} labels ({shown}{more}) the optimum cannot "
            f"be told from a constant predictor; {advice}.",
            UserWarning,
            stacklevel=3,
        )

    def _starts(self, training_set: TrainingSet, numbers: Hyperparameters):
        """The multipliers of the last fit, clipped into the new box, when they fit the data."""
        kept = getattr(self, "_multipliers", None) if self.warm_start else None
        return self._clip_starts(training_set, numbers, kept)

    def _clip_starts(self, training_set: TrainingSet, numbers: Hyperparameters, kept):
        """Multipliers of an earlier fit moved into the new box; None when the data changed."""
        if kept is None or len(kept) != training_set.n_labels:
            return None
        starts = []
        for i, (alpha, beta) in enumerate(kept):
            problem = training_set.problem(i, numbers)
            if len(alpha) != len(problem.rows) or len(beta) != len(problem.norm):
                return None
            starts.append((np.minimum(alpha, problem.upper), beta.copy()))
        return starts

    def _store_teachers(self, training_set: TrainingSet, wt: list[np.ndarray]) -> None:
        n_labels = training_set.n_labels
        self.privileged_coef_ = np.zeros((n_labels, n_labels))
        for i in range(n_labels):
            self.privileged_coef_[i, training_set.features.labels_of(i)] = wt[i]

    def _keep_multipliers(
        self,
        training_set: TrainingSet,
        numbers: Hyperparameters,
        alpha: list[np.ndarray],
        beta: list[np.ndarray],
    ) -> None:
        """Keep what `warm_start` and `keep_duals` ask for; a group's beta is shared out by cost."""
        if self.warm_start:
            self._multipliers = list(zip(alpha, beta, strict=True))
        if not self.keep_duals:
            return
        shape = (training_set.n_labels, training_set.n_samples)
        self.dual_coef_, self.dual_slack_ = np.zeros(shape), np.zeros(shape)
        for i in range(training_set.n_labels):
            problem = training_set.problem(i, numbers)
            share = problem.cost / problem.group_cost[problem.group]
            self.dual_coef_[i, problem.rows] = alpha[i]
            self.dual_slack_[i, problem.rows] = beta[i][problem.group] * share

    def _smooth_start(self, training_set: TrainingSet):
        """(Z, U) of the last fit as `solve_smooth` takes them, when they fit the data."""
        shape = (training_set.n_labels, training_set.n_features)
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape != shape:
            return None
        return (
            np.vstack([self.coef_.T, self.intercept_]),
            np.vstack([self.privileged_coef_.T, self.privileged_intercept_]),
        )

    def _store_smooth_teachers(
        self, training_set: TrainingSet, numbers: Hyperparameters, U: np.ndarray | None
    ) -> None:
        """Keep the teachers of a smooth member, and what `keep_duals` asks for."""
        n_labels = training_set.n_labels
        if U is None:
            self.privileged_coef_ = np.zeros((n_labels, n_labels))
            self.privileged_intercept_ = np.zeros(n_labels)
        else:
            self.privileged_coef_ = np.ascontiguousarray(U[:-1].T)
            self.privileged_intercept_ = U[-1].copy()
        if self.keep_duals:
            self.dual_coef_, self.dual_slack_ = smooth_multipliers(
                training_set, numbers, self.loss, np.vstack([self.coef_.T, self.intercept_]), U
            )

    def _feature_map(self, X) -> FeatureMap:
        """The kernel's features of the training rows; sets `gamma_`."""
        self.gamma_ = default_gamma(X) if self.gamma is None else float(self.gamma)
        return kernel_features(X, self._kernel(), n_landmarks=self.n_landmarks, seed=self._seed())

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma_, float(self.degree), float(self.coef0))

    def _keep_landmarks(self, feature_map: FeatureMap | None) -> None:
        """Keep what scores of new rows need: the landmarks and their coefficients."""
        if feature_map is not None:
            self.landmarks_ = feature_map.landmarks
            self.landmark_coef_ = feature_map.landmark_coef(self.coef_)

    def _scores(self, X) -> np.ndarray:
        if self._is_linear:
            scores = self._linear_scores(X)
        else:
            scores = kernel_scores(X, self._kernel(), self.landmarks_, self.landmark_coef_)
        scores += self.intercept_
        return scores

    def _linear_scores(self, X) -> np.ndarray:
        """X times the coefficients, a new array."""
        return safe_sparse_dot(X, self.coef_.T, dense_output=True)

    def predict_proba(self, X) -> np.ndarray:
        """Map scores to (0, 1), 0 to 1/2, by the logistic function.

        A monotone map, not a calibrated probability: see
        `prml.model_selection.MultilabelCalibrator` for those.

        Returns
        -------
        ndarray of shape (n_samples, n_labels); after a fit on a 1-D y one column a class, rows
        summing to 1.
        """
        chance = expit(self._scores(self._check_predict_data(X)))
        tiny = np.finfo(chance.dtype).eps
        np.clip(chance, tiny, 1.0 - tiny, out=chance)
        return self._by_class(chance)

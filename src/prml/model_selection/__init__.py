"""What is here: splits, cross-fitted scores, thresholds and probabilities for multi-label data."""

from prml.model_selection.calibration import MultilabelCalibrator
from prml.model_selection.cross_fit import cross_fitted_scores
from prml.model_selection.splits import MultilabelStratifiedKFold, multilabel_train_test_split
from prml.model_selection.thresholds import ThresholdTuner

__all__ = [
    "MultilabelCalibrator",
    "MultilabelStratifiedKFold",
    "ThresholdTuner",
    "cross_fitted_scores",
    "multilabel_train_test_split",
]

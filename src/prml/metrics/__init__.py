"""What is here: the metrics of multi-label learning, as its literature computes them.

>>> from prml.metrics import METRICS
>>> METRICS["coverage"].better, METRICS["coverage"].needs
('lower', 'scores')
"""

from prml.metrics.calibration import (
    ReliabilityCurve,
    expected_calibration_error,
    reliability_curve,
)
from prml.metrics.functions import (
    average_precision,
    coverage,
    example_f1,
    hamming_loss,
    label_auc,
    label_f1,
    macro_auc,
    macro_f1,
    micro_f1,
    ndcg_at_k,
    one_error,
    precision_at_k,
    propensity_scored_precision_at_k,
    ranking_loss,
    subset_accuracy,
)
from prml.metrics.propensity import propensities
from prml.metrics.registry import METRICS, SIX, Metric, get_metric
from prml.metrics.table import EvaluationTable, evaluate, scorer

__all__ = [
    "METRICS",
    "SIX",
    "EvaluationTable",
    "Metric",
    "ReliabilityCurve",
    "average_precision",
    "coverage",
    "evaluate",
    "example_f1",
    "expected_calibration_error",
    "get_metric",
    "hamming_loss",
    "label_auc",
    "label_f1",
    "macro_auc",
    "macro_f1",
    "micro_f1",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "ranking_loss",
    "reliability_curve",
    "scorer",
    "subset_accuracy",
]

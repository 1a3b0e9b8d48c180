"""What is here: the estimators - parameters, validation, fitted attributes."""

from prml.estimators.feature_scaling import FeatureScaler
from prml.estimators.prbr import PrBR
from prml.estimators.prml import PrML
from prml.estimators.prmlcv import PrMLCV
from prml.estimators.teacher_transfer import TeacherTransfer

__all__ = ["FeatureScaler", "PrBR", "PrML", "PrMLCV", "TeacherTransfer"]

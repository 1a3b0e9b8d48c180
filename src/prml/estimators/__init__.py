"""What is here: the estimators - parameters, validation, fitted attributes."""

from prml.estimators.prbr import PrBR
from prml.estimators.prml import PrML
from prml.estimators.teacher_transfer import TeacherTransfer

__all__ = ["PrBR", "PrML", "TeacherTransfer"]

"""What is here: the estimators - parameters, validation, fitted attributes."""

from prml.estimators.prbr import PrBR
from prml.estimators.prml import PrML

__all__ = ["PrBR", "PrML"]

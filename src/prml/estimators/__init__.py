"""What is here: the estimators - parameters, validation, fitted attributes."""

from prml.estimators.prbr import PrBR

__all__ = ["PrBR"]

"""What is here: the methods that PrML is compared with, each an estimator of its own."""

from prml.baselines.binary_relevance import BinaryRelevance
from prml.baselines.ecc import ECC
from prml.baselines.leml import LEML
from prml.baselines.ml2 import ML2
from prml.baselines.rakel import RAkEL
from prml.baselines.ties import break_ties_by_label

__all__ = ["ECC", "LEML", "ML2", "BinaryRelevance", "RAkEL", "break_ties_by_label"]

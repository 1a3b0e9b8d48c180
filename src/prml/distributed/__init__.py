"""Scale-out on Dask: the same estimators, their labels on the workers of a cluster.

What is here: the public names. Dask itself is imported when one of them is called.
"""

from prml.distributed.crew import Limits
from prml.distributed.fit import fit_dask
from prml.distributed.predict import evaluate_dask, predict_dask

__all__ = ["Limits", "evaluate_dask", "fit_dask", "predict_dask"]

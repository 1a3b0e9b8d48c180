"""What is here: the comparison of methods, from data and protocol to tables and figures.

>>> from prml.bench import METHODS
>>> METHODS["PrML"].group
'paper'
"""

from prml.bench.methods import METHODS, Method, choose_methods
from prml.bench.paper_figures import PAPER_DATASETS, PAPER_METHODS, PAPER_TABLE
from prml.bench.plan import run_cells
from prml.bench.protocol import Data, halves, load_data, run_cell
from prml.bench.results_file import ResultsFile

__all__ = [
    "METHODS",
    "PAPER_DATASETS",
    "PAPER_METHODS",
    "PAPER_TABLE",
    "Data",
    "Method",
    "ResultsFile",
    "choose_methods",
    "halves",
    "load_data",
    "run_cell",
    "run_cells",
]

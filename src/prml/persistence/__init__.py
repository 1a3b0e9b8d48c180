"""What is here: models as files - `save_model`, `load_model` and the header of a file.

A `.prml` file is a zip archive, not compressed, of NumPy arrays (`arrays/0.npy` ...) and a
`header.json` that says how they make up an estimator. It holds no code: a class is named, and the
name is looked up in a table of this package. The header has the SHA-256 of every array, and the
archive's comment that of the header.
"""

from prml.persistence.errors import ModelFileError
from prml.persistence.header import read_header
from prml.persistence.model_file import load_model, save_model

__all__ = ["ModelFileError", "load_model", "read_header", "save_model"]

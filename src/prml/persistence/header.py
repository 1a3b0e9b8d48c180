"""What is here: opening a model file, and what it says of itself."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prml.datasets.text_input import reason_of
from prml.persistence.archive import DAMAGE, ArchiveReader, MmapMode
from prml.persistence.errors import ModelFileError
from prml.persistence.tree import Decoder


def read_header(path: str | Path) -> dict[str, Any]:
    """Read what a file says of itself, without its arrays.

    Returns
    -------
    dict
        `format`, `estimator` (class), `versions`, `metadata`, `parts` (name, dtype, shape and
        SHA-256 of every array) and `bytes`, the size of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml import PrBR, save_model
    >>> from prml.persistence import read_header
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(PrBR(loss="squared_hinge").fit(X, Y), Path(folder) / "model.prml")
    ...     read_header(path)["estimator"]
    'PrBR'
    """
    with reading(path, None, False) as reader:
        header = {key: reader.header[key] for key in ("format", "estimator", "versions", "parts")}
        header["metadata"] = Decoder(reader.array).decode(reader.header["metadata"])
        header["bytes"] = Path(path).stat().st_size
        return header


@contextmanager
def reading(path: str | Path, mmap_mode: MmapMode, verify: bool) -> Iterator[ArchiveReader]:
    """Open a model file; every complaint of the block names it."""
    if mmap_mode not in (None, "r", "c"):
        raise ValueError(f"mmap_mode is {mmap_mode!r}; expected None, 'r' or 'c'.")
    try:
        with ArchiveReader(Path(path), mmap_mode, verify) as reader:
            yield reader
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be read as a model: {reason_of(error)}.") from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # a spoiled directory sends zipfile before the start
            raise
        raise ModelFileError(
            f"{path} cannot be read as a model: its directory is damaged."
        ) from error
    except DAMAGE as error:
        raise ModelFileError(
            f"{path} cannot be read as a model: {reason_of(error)}; expected a file written by "
            "save_model."
        ) from error

"""What is here: `save_model` and `load_model`."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from prml import __version__
from prml.persistence.archive import FORMAT, MmapMode, write_archive
from prml.persistence.classes import name_of
from prml.persistence.errors import ModelFileError
from prml.persistence.header import reading
from prml.persistence.tree import Decoder, Encoder


def save_model(model: Any, path: str | Path, *, metadata: dict[str, Any] | None = None) -> Path:
    """Write a fitted estimator to a file that holds numbers and names, and no code.

    Parameters
    ----------
    model : estimator
        One of prml, or a scikit-learn Pipeline that ends in one (with a TfidfVectorizer before
        it, say). `callbacks` and `checkpoint` belong to the run and are not stored.
    path : str or Path
        The file to write, by custom `NAME.prml`. An old file stays until the new one is whole.
    metadata : dict, optional
        What else the file should tell: text, numbers, lists and dicts of these.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml import load_model, save_model
    >>> from prml.baselines import BinaryRelevance
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> model = BinaryRelevance(loss="logistic").fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_model(save_model(model, Path(folder) / "model.prml"))
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    name = name_of(model)
    if name is None:
        raise ModelFileError(
            f"a {type(model).__module__}.{type(model).__qualname__} cannot be saved; expected an "
            "estimator of prml, or a scikit-learn Pipeline that ends in one."
        )
    encoder = Encoder()
    tree = encoder.encode(model, name)
    header = {
        "format": FORMAT,
        "estimator": name,
        "versions": {
            "prml": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "metadata": Encoder().encode(metadata or {}, "metadata"),
        "model": tree,
    }
    path = Path(path)
    write_archive(path, header, encoder.arrays)
    return path


def load_model(path: str | Path, *, mmap_mode: MmapMode = None, verify: bool = True) -> Any:
    """Read an estimator from a file of `save_model`.

    Nothing of the file is executed, memory is bounded by the size of the file, and whatever is
    wrong with it is told in a sentence.

    Parameters
    ----------
    path : str or Path
    mmap_mode : {None, "r", "c"}
        With "r" the arrays stay in the file and are mapped, read-only, so that a large model is
        there at once and several processes share it; "c" lets changes stay in memory.
    verify : bool
        Compare the SHA-256 of every array. Without it a mapped file is not read through.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        A ValueError: the file is damaged, is no model file, or was written by a newer prml.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from prml import PrBR, load_model, save_model
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = save_model(PrBR(loss="squared_hinge").fit(X, Y), Path(folder.name) / "model.prml")
    >>> load_model(path, mmap_mode="r").predict(X[:2]).shape
    (2, 5)
    >>> folder.cleanup()
    """
    with reading(path, mmap_mode, verify) as reader:
        tree = reader.header["model"]
        if not isinstance(tree, dict) or tree.get("@") != "estimator":
            raise ModelFileError("its header describes no estimator")
        return Decoder(reader.array).decode(tree)

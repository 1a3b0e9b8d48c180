"""What is here: `load_dataset` and `list_datasets`: find a dataset on disk, or fetch it once."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from prml.datasets.store import Parts, read_npz, write_npz
from prml.datasets.table import TABLE, DatasetInfo


def list_datasets() -> dict[str, DatasetInfo]:
    """List the datasets that `load_dataset` knows, by name.

    Returns
    -------
    dict
        Name to its row of the table: `n_samples`, `n_features`, `n_labels`, `cardinality`,
        `density`, `citation`, `sources`.

    Examples
    --------
    >>> from prml.datasets import list_datasets
    >>> bibtex = list_datasets()["bibtex"]
    >>> bibtex.n_samples, bibtex.n_features, bibtex.n_labels, round(bibtex.cardinality, 3)
    (7395, 1836, 159, 2.402)
    """
    return dict(TABLE)


def load_dataset(name: str, data_home: str | os.PathLike | None = None) -> Bunch:
    """Load a benchmark dataset, fetching it the first time.

    `NAME.npz` is looked for in `data_home`, in the folder named by the environment variable
    PRML_DATA, in a folder `shared/data` beside a source checkout, and in the user's cache. Only
    when none has it is it fetched: its checksum is verified, and the result is kept in
    `data_home` when given, else in the user's cache.

    Parameters
    ----------
    name : str
        A key of `list_datasets()`; case does not matter.
    data_home : path-like, optional
        The folder to look in first, and to keep fetched data in.

    Returns
    -------
    Bunch
        `X`, an ndarray when the data are dense, else CSR; `Y`, a CSR of ones; `feature_names` and
        `label_names`; `train_idx` and `test_idx`, or None when the source has no split;
        `citation`; `source`, the file that was read; `name`.

    Examples
    --------
    >>> from prml.datasets import load_dataset
    >>> flags = load_dataset("flags")  # doctest: +SKIP
    >>> flags.X.shape, flags.Y.shape, flags.label_names[:3].tolist()  # doctest: +SKIP
    ((194, 19), (194, 7), ['red', 'green', 'blue'])
    """
    info = TABLE.get(str(name).lower())
    if info is None:
        raise ValueError(
            f"there is no dataset named {name!r}; expected one of {', '.join(sorted(TABLE))}."
        )
    folders = _folders(data_home)
    for folder in folders:
        path = folder / f"{info.name}.npz"
        if path.is_file():
            parts = read_npz(path)
            check_against_table(parts, info, str(path))
            return _bunch(parts, info, path)
    # Only now: what follows may need the network, and its imports take time.
    from prml.datasets.fetch import fetch

    home = Path(data_home).expanduser() if data_home is not None else user_cache()
    path = home / f"{info.name}.npz"
    parts = fetch(info, home, looked_in=folders)
    check_against_table(parts, info, "what was fetched")
    try:
        write_npz(path, parts)
    except OSError as error:  # a full disk or a read-only folder must not cost the data at hand
        warnings.warn(
            f"{path} was not written ({error.strerror or error}); {info.name} will be fetched "
            "again next time.",
            RuntimeWarning,
            stacklevel=2,
        )
    return _bunch(parts, info, path)


def check_against_table(parts: Parts, info: DatasetInfo, where: str) -> None:
    """Refuse data whose sizes or number of positive labels are not those of the table."""
    found = (*parts.X.shape, parts.Y.shape[1], parts.Y.nnz)
    expected = (info.n_samples, info.n_features, info.n_labels, info.n_positives)
    if found != expected or parts.Y.shape[0] != parts.X.shape[0]:
        raise ValueError(
            f"{where} is not {info.name}: it has n, d, L and number of positives {found}; "
            f"expected {expected}."
        )


def user_cache() -> Path:
    """The folder for data that can be fetched again, by the custom of the operating system."""
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        root = Path.home() / "Library" / "Caches"
    else:
        root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "prml"


def shared_folder() -> Path | None:
    """The folder `shared/data` beside a source checkout; None for an installed package."""
    checkout = Path(__file__).resolve().parents[3]
    if (checkout / "pyproject.toml").is_file():
        return checkout.parent / "shared" / "data"
    return None


def _folders(data_home: str | os.PathLike | None) -> list[Path]:
    """The folders to look in, in order, whether they exist or not."""
    folders = []
    if data_home is not None:
        folders.append(Path(data_home).expanduser())
    if os.environ.get("PRML_DATA"):
        folders.append(Path(os.environ["PRML_DATA"]).expanduser())
    shared = shared_folder()
    if shared is not None:
        folders.append(shared)
    folders.append(user_cache())
    return folders


def _bunch(parts: Parts, info: DatasetInfo, path: Path) -> Bunch:
    n_features, n_labels = info.n_features, info.n_labels
    feature_names, label_names = parts.feature_names, parts.label_names
    if feature_names is None:
        feature_names = np.array([f"x{j}" for j in range(n_features)])
    if label_names is None:
        label_names = np.array([f"label{j}" for j in range(n_labels)])
    return Bunch(
        name=info.name,
        X=parts.X.toarray() if info.dense else parts.X,
        Y=parts.Y,
        feature_names=feature_names,
        label_names=label_names,
        train_idx=parts.train_idx,
        test_idx=parts.test_idx,
        citation=info.citation,
        source=str(path),
    )

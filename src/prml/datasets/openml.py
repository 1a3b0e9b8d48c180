"""What is here: OpenML as a source of datasets, through scikit-learn's `fetch_openml`."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import fetch_openml

from prml.datasets.store import Parts
from prml.datasets.table import DatasetInfo, OpenMLSource
from prml.datasets.words import number_of_word


def fetch_from_openml(source: OpenMLSource, info: DatasetInfo, home: Path) -> Parts:
    """Fetch a dataset whose targets on OpenML are the labels; OpenML has no split of it.

    Raises
    ------
    OSError
        When OpenML cannot be reached or does not have the data in this form.
    """
    try:
        held = fetch_openml(
            data_id=source.data_id,
            as_frame=False,
            parser="liac-arff",  # needs no pandas
            data_home=str(home / "openml"),
            n_retries=1,
        )
    except ValueError as error:
        raise OSError(f"OpenML did not give data set {source.data_id}: {error}") from error
    return openml_parts(held, info)


def openml_parts(held, info: DatasetInfo) -> Parts:
    """Turn the bunch of `fetch_openml(..., as_frame=False)` into numbers.

    A nominal feature arrives as the index of its category; it is given back its number, yes and no
    count as 1 and 0, and one whose categories are neither is an identifier and left out.
    """
    X = sp.csc_matrix(held.data, dtype=np.float64)
    kept, columns = [], []
    for j, name in enumerate(held.feature_names):
        column = X[:, [j]]
        words = held.categories.get(name)
        if words is not None:
            numbers = [number_of_word(word) for word in words]
            if None in numbers:
                continue
            if numbers != list(range(len(numbers))):
                codes = column.toarray().astype(np.intp)
                column = sp.csc_matrix(np.array(numbers, dtype=np.float64)[codes])
        kept.append(name)
        columns.append(column)
    words, codes = np.unique(np.asarray(held.target, dtype=str), return_inverse=True)
    numbers = [number_of_word(word) for word in words]
    if not set(numbers) <= {0.0, 1.0}:
        raise ValueError(
            f"OpenML's targets of {info.name} are {words[:5].tolist()}; expected 0 and 1, or FALSE "
            "and TRUE."
        )
    present = np.array(numbers, dtype=np.float64)[codes].reshape(np.shape(held.target))
    return Parts(
        X=sp.hstack(columns, format="csr").astype(info.dtype),
        Y=sp.csr_matrix(present),
        feature_names=np.array(kept, dtype=np.str_),
        label_names=np.array(held.target_names, dtype=np.str_),
    )

"""What is here: the embedded data, 4,000 Debian packages with a line of text and tags each."""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import Bunch

from prml.datasets.text_input import shown

SOURCE = "the Package, Description and Tag fields of Debian 12's package index"
CITATION = (
    "Debtags: E. Zini. A cute introduction to Debtags. Proceedings of the Annual Debian "
    "Conference, 2005. Descriptions and tags by the maintainers and users of Debian."
)


def load_debtags(path: str | Path | None = None) -> Bunch:
    """Load the Debian packages: one line of text each, and the tags that people gave them.

    The problem is small enough to follow with the eye (`role::program`, `use::editing`,
    `works-with::text`) and real: the tags depend on each other, some are rare, and some cannot
    be guessed from the line. No two packages come from the same source package.

    Parameters
    ----------
    path : str or Path, optional
        A file written by `scripts/build_debtags.py`; by default the one in the package.

    Returns
    -------
    Bunch
        `text` (ndarray of str), `package_names`, `X` (CSR of tf-idf weights, rows of unit norm;
        the vocabulary comes from the training part alone), `Y` (CSR of 0 and 1), `label_names`,
        `feature_names`, `vectorizer` (the fitted TfidfVectorizer), `train_idx`, `test_idx` (a
        fixed split, three to one), `citation`, `source`.

    Examples
    --------
    >>> from prml.datasets.debtags import load_debtags
    >>> data = load_debtags()
    >>> data.Y.shape
    (4000, 100)
    >>> row = data.package_names.tolist().index("audacity")
    >>> data.text[row]
    'fast, cross-platform audio editor'
    >>> data.label_names[data.Y[row].indices][:3].tolist()
    ['interface::graphical', 'interface::x11', 'role::program']
    """
    if path is None:
        name = "debtags.tsv"
        content = (resources.files("prml.datasets") / "data" / name).read_text("utf-8")
    else:
        name, content = str(path), Path(path).read_text("utf-8")
    table = _parse(content.split("\n"), name)

    train_idx = np.flatnonzero(~table.is_test)
    vectorizer = make_vectorizer().fit(table.text[train_idx])
    return Bunch(
        text=table.text,
        package_names=table.package_names,
        X=vectorizer.transform(table.text),
        Y=table.Y,
        label_names=table.label_names,
        feature_names=vectorizer.get_feature_names_out(),
        vectorizer=vectorizer,
        train_idx=train_idx,
        test_idx=np.flatnonzero(table.is_test),
        citation=CITATION,
        source=SOURCE,
    )


def make_vectorizer(min_df: int = 2) -> TfidfVectorizer:
    """Make the text features of this package: words and word pairs, `c`, `c++` and `c#` kept apart.

    Examples
    --------
    >>> from prml.datasets.debtags import make_vectorizer
    >>> make_vectorizer(min_df=1).fit(["a C++ editor"]).get_feature_names_out().tolist()
    ['a', 'a c++', 'c++', 'c++ editor', 'editor']
    """
    return TfidfVectorizer(
        token_pattern=r"(?u)\w[\w+#]*", ngram_range=(1, 2), min_df=min_df, sublinear_tf=True
    )


class _Table(NamedTuple):
    package_names: np.ndarray
    is_test: np.ndarray
    text: np.ndarray
    Y: sp.csr_matrix
    label_names: np.ndarray


def _parse(lines: Iterable[str], name: str) -> _Table:
    """Read the lines of the data file; every fault is told with its line."""
    tags: list[str] = []
    names: list[str] = []
    is_test: list[bool] = []
    text: list[str] = []
    indices: list[int] = []
    indptr = [0]
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r")
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) == 2 and fields[0] == "tag":
            if fields[1] in tags:
                raise ValueError(
                    f"{name}, line {number}: the tag {shown(fields[1])} is there twice."
                )
            tags.append(fields[1])
            continue
        if len(fields) != 4 or fields[1] not in ("train", "test"):
            raise ValueError(
                f"{name}, line {number}: expected a package, 'train' or 'test', a description "
                "and the numbers of its tags, separated by tabs."
            )
        codes = fields[3].split(" ")
        if not all(code.isascii() and code.isdigit() and int(code) < len(tags) for code in codes):
            raise ValueError(
                f"{name}, line {number}: the tag numbers are {shown(fields[3])}; expected integers "
                f"from 0 to {len(tags) - 1}, the number of tags listed above less one."
            )
        names.append(fields[0])
        is_test.append(fields[1] == "test")
        text.append(fields[2])
        indices.extend(sorted({int(code) for code in codes}))
        indptr.append(len(indices))
    if not names:
        raise ValueError(f"{name} holds no package; expected a file of scripts/build_debtags.py.")
    Y = sp.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(names), len(tags)))
    # Fixed-width strings would cost ten times the text for its one longest line.
    return _Table(
        np.array(names, dtype=object),
        np.array(is_test),
        np.array(text, dtype=object),
        Y,
        np.array(tags),
    )

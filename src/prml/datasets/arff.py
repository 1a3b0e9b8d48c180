"""What is here: `load_arff`, the reader of ARFF files with several labels."""

import os
from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from prml.datasets.arff_columns import Columns, LabelChoice, choose_labels
from prml.datasets.arff_header import read_header
from prml.datasets.arff_rows import read_rows
from prml.datasets.text_input import open_lines


def load_arff(
    path: str | os.PathLike,
    labels: LabelChoice = None,
    *,
    ignore: Sequence[str] = (),
    dtype: type = np.float64,
) -> Bunch:
    """Read a multi-label ARFF file, dense or sparse, plain or compressed.

    Parameters
    ----------
    path : path-like
        The file; gzip, bzip2 and xz are read too.
    labels : int, list of str, path-like or None, default=None
        Which attributes are labels. A number n means the first n attributes, -n the last n, as in
        MEKA; a list gives their names, in the order of the columns of Y; a path (or a str ending
        in .xml) is a Mulan XML file. None takes `-C n` from the relation's name, else the XML file
        of the same name beside `path`.
    ignore : list of str, default=()
        Attributes to leave out, such as identifiers. Strings and dates can only be left out.
    dtype : dtype, default=float64
        Of X.

    Returns
    -------
    Bunch
        `X`, CSR for a sparse file and an ndarray for a dense one; missing values are NaN and a
        nominal is the index of its category. `Y`, a CSR of ones, or an ndarray with NaN when a
        label is missing somewhere. `feature_names`, `label_names`; `categories`, a dict from the
        name of a nominal feature to its categories; `relation`; `source`, the path.

    Raises
    ------
    ValueError
        With file and line, when the file is malformed.

    Notes
    -----
    In a sparse row, what is not listed is 0, and for a nominal its first category. So a label
    declared as {1,0} is present where it is not listed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from prml.datasets import load_arff
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tiny.arff"
    >>> _ = path.write_text('''@relation 'tiny: -C -2'
    ... @attribute size numeric
    ... @attribute 'main colour' {red, green, 'light blue'}
    ... @attribute round {0,1}
    ... @attribute sweet {0,1}
    ... @data
    ... 1.5, 'light blue', 1, 0
    ... ?, red, 1, 1
    ... ''')
    >>> tiny = load_arff(path)
    >>> tiny.X.tolist()
    [[1.5, 2.0], [nan, 0.0]]
    >>> tiny.Y.toarray().astype(int).tolist(), tiny.label_names.tolist()
    ([[1, 0], [1, 1]], ['round', 'sweet'])
    """
    with open_lines(path) as reader:
        header = read_header(reader)
        columns = Columns(header, choose_labels(header, labels, reader.name), ignore, reader.name)
        rows = read_rows(reader, columns, np.dtype(dtype))
    attributes = header.attributes
    return Bunch(
        X=rows.features(),
        Y=rows.labels(),
        feature_names=np.array([attributes[j].name for j in columns.features], dtype=np.str_),
        label_names=np.array([attributes[j].name for j in columns.labels], dtype=np.str_),
        categories={
            attributes[j].name: list(attributes[j].categories)
            for j in columns.features
            if attributes[j].kind == "nominal"
        },
        relation=header.relation,
        source=os.fspath(path),
    )

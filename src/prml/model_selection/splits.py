"""What is here: splits of multi-label data that keep every label's frequency in every part."""

import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_random_state

from prml.model_selection.split_loops import deal_rarest_label_first, swap_while_better
from prml.sparse_check import indexable_rows
from prml.targets import read_targets

_MAX_SWAP_PASSES = 200
_MAX_SWAP_TRIES = 20_000_000  # some seconds


class MultilabelStratifiedKFold(BaseCrossValidator):
    """K folds in which every label is as frequent as in the whole.

    Iterative stratification (the examples of the rarest label are dealt first) followed by swaps
    between folds that even out what is left. Folds differ in size by at most one example, unless
    groups forbid it. A sparse Y is read by its indices only.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    shuffle : bool
        Whether the folds depend on `random_state`; without it the same data always give the same
        folds.
    random_state : int, RandomState instance or None
        Seed of the shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from prml.model_selection import MultilabelStratifiedKFold
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> for train, test in MultilabelStratifiedKFold(n_splits=2).split(Y, Y):
    ...     print(len(test), Y[test].sum(axis=0))
    4 [2 2]
    4 [2 2]
    """

    # `groups` reaches `split` when scikit-learn's metadata routing is on
    __metadata_request__split = {"groups": True}  # noqa: RUF012

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None):
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the row numbers of the training and the test part of every fold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Only its length is looked at.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Labels, 0 and 1; NaN counts as absent. A 1-D y is stratified by class.
        groups : array-like of shape (n_samples,), optional
            Examples of one group stay together.
        """
        yield from super().split(*indexable_rows(X=X, Y=y, groups=groups))

    def _iter_test_masks(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[np.ndarray]:
        if not isinstance(self.n_splits, numbers.Integral) or self.n_splits < 2:
            raise ValueError(f"n_splits is {self.n_splits!r}; expected an integer of at least 2.")
        if not self.shuffle and self.random_state is not None:
            raise ValueError("random_state has no effect while shuffle is False; set shuffle=True.")
        rng = _generator(self.random_state if self.shuffle else 0)
        fold = deal(y, np.full(self.n_splits, 1 / self.n_splits), groups, rng, "n_splits")
        for k in range(self.n_splits):
            yield fold == k


def multilabel_train_test_split(
    X: Any,
    Y: Any,
    *others: Any,
    test_size: float | int | None = None,
    train_size: float | int | None = None,
    groups: Any = None,
    random_state: Any = None,
) -> list[Any]:
    """Split into two parts in which every label is as frequent as in the whole.

    Parameters
    ----------
    X, Y, *others : array-likes, sparse matrices or DataFrames of equal length
        All are split; Y, (n_samples, n_labels) of 0 and 1, decides how.
    test_size, train_size : float or int, optional
        A share of the examples, or their number. By default a quarter is for testing, and the rest
        for training; when both are given and leave a rest, it is in neither part.
    groups : array-like of shape (n_samples,), optional
        Examples of one group stay together; sizes are then met as nearly as possible.
    random_state : int, RandomState instance or None
        Seed.

    Returns
    -------
    list
        Training and test part of every argument in turn: ``X_train, X_test, Y_train, Y_test, ...``

    Examples
    --------
    >>> import numpy as np
    >>> from prml.model_selection import multilabel_train_test_split
    >>> X, Y = np.arange(8)[:, None], np.tile([[1, 0], [0, 1]], (4, 1))
    >>> X_train, X_test, Y_train, Y_test = multilabel_train_test_split(
    ...     X, Y, test_size=0.5, random_state=0)
    >>> Y_train.sum(axis=0).tolist(), Y_test.sum(axis=0).tolist()
    ([2, 2], [2, 2])
    """
    more = {f"array {k}": other for k, other in enumerate(others, 3)}
    arrays = indexable_rows(X=X, Y=Y, **more)
    n_samples = np.shape(arrays[0])[0]
    n_train, n_test = _part_sizes(n_samples, train_size, test_size)
    sizes = [n_train, n_test, n_samples - n_train - n_test]
    # an empty third part must not exist: a group could overflow into it
    shares = np.array([size for size in sizes if size > 0]) / n_samples
    fold = deal(arrays[1], shares, groups, _generator(random_state), "n_parts")
    parts = [np.flatnonzero(fold == part) for part in (0, 1)]
    return [_safe_indexing(array, rows) for array in arrays for rows in parts]


def _part_sizes(n_samples: int, train_size: Any, test_size: Any) -> tuple[int, int]:
    def number(size: Any, name: str) -> int | None:
        if size is None:
            return None
        if isinstance(size, numbers.Integral):
            if 0 < int(size) < n_samples:
                return int(size)
        elif 0 < size < 1:
            return round(float(size) * n_samples)
        raise ValueError(
            f"{name} is {size!r}; expected a share in (0, 1) or a number of examples between 1 and "
            f"{n_samples - 1}."
        )

    n_train, n_test = number(train_size, "train_size"), number(test_size, "test_size")
    if n_test is None:
        n_test = round(0.25 * n_samples) if n_train is None else n_samples - n_train
    if n_train is None:
        n_train = n_samples - n_test
    if n_train < 1 or n_test < 1 or n_train + n_test > n_samples:
        raise ValueError(
            f"The {n_samples} examples cannot be split into {n_train} for training and {n_test} "
            "for testing; expected at least one each and no more than there are."
        )
    return n_train, n_test


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))


def deal(
    Y: Any, shares: np.ndarray, groups: Any, rng: np.random.Generator, parts_name: str
) -> np.ndarray:
    """Deal the examples to parts that hold the given shares of them; return the part of each."""
    positives = read_targets(Y, owner="the split").positives.astype(np.int64)
    n_samples = positives.shape[0]
    item_of = np.arange(n_samples)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n_samples,):
            raise ValueError(
                f"groups has shape {groups.shape}; expected one value for each of the "
                f"{n_samples} examples."
            )
        item_of = np.unique(groups, return_inverse=True)[1]
        n_items = item_of.max() + 1
        membership = sp.csr_matrix(
            (np.ones(n_samples, dtype=np.int64), (item_of, np.arange(n_samples))),
            shape=(n_items, n_samples),
        )
        positives = membership @ positives
    sizes = np.bincount(item_of)
    if len(sizes) < len(shares):
        have = f"Y has n_samples={len(sizes)}"
        if groups is not None:
            have = f"There are {len(sizes)} groups"
        raise ValueError(f"{have}; expected at least {parts_name}={len(shares)}.")
    # a random order, but large groups first: they are the hardest to place
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold_of_item = np.empty(len(sizes), dtype=np.int64)
    fold_of_item[order] = _deal_items(positives[order], sizes[order], shares, rng)
    return fold_of_item[item_of]


def _deal_items(
    positives: sp.csr_matrix, sizes: np.ndarray, shares: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    positives.sort_indices()
    columns = positives.tocsc()
    items = positives.indptr.astype(np.int64), positives.indices.astype(np.int64), positives.data
    labels = columns.indptr.astype(np.int64), columns.indices.astype(np.int64)
    n_items = positives.shape[0]
    totals = np.asarray(positives.sum(axis=0), dtype=np.float64).ravel()
    target = totals[:, None] * shares
    wanted, wanted_size = target.copy(), _whole_sizes(sizes.sum(), shares, rng)
    fold = np.full(n_items, -1, dtype=np.int64)
    first_fold = rng.integers(len(shares), size=n_items)
    deal_rarest_label_first(*items, sizes, *labels, wanted, wanted_size, first_fold, fold)
    # Rare labels are even by now, the frequent ones, dealt last, may not be.
    weights = 1 / np.maximum(totals, 1) ** 1.5
    size_weight = 1 / sizes.sum()
    tolerance = np.maximum(0.999, 0.004 * target)
    idle_passes = 0
    for _ in range(min(_MAX_SWAP_PASSES, _MAX_SWAP_TRIES // n_items + 1)):
        even = (np.abs(wanted) < tolerance).all() and (np.abs(wanted_size) < 1).all()
        if even or idle_passes == 5:
            break
        candidates = rng.integers(n_items, size=(n_items, 2))
        n_swaps = swap_while_better(
            *items, sizes, weights, size_weight, candidates, wanted, wanted_size, fold
        )
        idle_passes = 0 if n_swaps else idle_passes + 1
    return fold


def _whole_sizes(total: int, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Round the parts' sizes to whole numbers that add up, the largest remainders up."""
    exact = shares * total
    whole = np.floor(exact + 1e-9)
    missing = round(total - whole.sum())
    ties = rng.permutation(len(shares))
    whole[ties[np.argsort(-(exact - whole)[ties], kind="stable")[:missing]]] += 1
    return whole

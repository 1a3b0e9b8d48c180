"""What is here: time and memory of the six metrics on labels as wide as those of eurlex."""

import time
import tracemalloc

import numpy as np
import scipy.sparse as sp

from prml.metrics import evaluate


def make_wide(n_samples, n_labels, cardinality, seed=0):
    rng = np.random.default_rng(seed)
    popularity = 1 / np.arange(1, n_labels + 1)
    labels = rng.choice(n_labels, size=(n_samples, cardinality), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(n_samples), cardinality)
    Y = sp.csr_matrix((np.ones(rows.size), (rows, labels.ravel())), shape=(n_samples, n_labels))
    Y.sum_duplicates()  # older versions of SciPy leave them in
    Y.data[:] = 1
    return Y


def test_eurlex_size_takes_seconds_and_little_memory():
    Y = make_wide(10_000, 3_993, 5)
    scores = np.random.default_rng(1).standard_normal(Y.shape, dtype=np.float32)
    evaluate(Y[:10], scores[:10])  # compile
    tracemalloc.start()
    start = time.process_time()
    table = evaluate(Y, scores)
    seconds = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 10
    assert peak < 200e6
    assert abs(table["ranking_loss"] - 0.5) < 0.01


def test_blocks_need_no_temporary_of_the_size_of_the_scores():
    Y = make_wide(4_000, 2_000, 5)

    def blocks():
        rng = np.random.default_rng(1)
        for _ in range(40):
            yield rng.standard_normal((100, 2_000))

    evaluate(Y[:100], [next(blocks())], metrics="all")
    tables = []
    for given in (blocks, blocks()):  # a function is called twice, a generator spilled to disk
        tracemalloc.start()
        tables.append(evaluate(Y, given, metrics="all"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 0.3 * 4_000 * 2_000 * 8
    assert tables[0].to_dict() == tables[1].to_dict()

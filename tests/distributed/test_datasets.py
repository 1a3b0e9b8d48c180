"""What is here: real datasets on 2 and 4 processes: the gap and the objective of one machine."""

import itertools

import numpy as np
import pytest
from sklearn.preprocessing import normalize
from tests.distributed.clusters import half_of, local_cluster, within

from prml import PrML

pytest.importorskip("distributed")
pytestmark = [pytest.mark.filterwarnings("ignore::UserWarning"), pytest.mark.long]

from prml.distributed import fit_dask  # noqa: E402
from prml.distributed.traffic import expected_bytes, expected_evaluation  # noqa: E402

TOL = 1e-2


def load(name):
    if name != "eurlex":
        return half_of(name)
    X, Y = half_of(name, max_rows=2000, max_labels=200)
    return normalize(X), Y


@pytest.mark.parametrize("name", ["enron", "bibtex", "eurlex"])
def test_gap_objective_and_bytes(name):
    X, Y = load(name)
    C = 0.02 if name == "eurlex" else 0.01
    single = PrML(C=C, tol=TOL, random_state=0, n_jobs=2).fit(X, Y)
    for n_workers in (2, 4):
        with local_cluster(n_workers) as (_, client), within(300):
            model = fit_dask(PrML(C=C, tol=TOL, random_state=0), X, Y, client)
        assert model.dual_gap_ <= TOL
        np.testing.assert_allclose(model.objective_, single.objective_, rtol=1e-2)
        n_labels, width = Y.shape[1], X.shape[1] + 1
        rows = [len(part) for part in np.array_split(np.arange(n_labels), n_workers)]
        traffic = model.traffic_
        moved = sum(entry["down"] + entry["up"] for entry in traffic[1:])
        said = sum(
            sum(expected_bytes(rows, width, before["rank"], entry["reliefs"]))
            for before, entry in itertools.pairwise(traffic)
        )
        said += len(model.history_) * expected_evaluation([n_labels - 1] * n_labels)
        a_round = moved / (len(traffic) - 1)
        print(
            f"\n{name}, {n_workers} workers: gap {model.dual_gap_:.4f}, objective "
            f"{model.objective_:.4f} ({single.objective_:.4f} on one machine), {model.n_iter_} "
            f"rounds ({single.n_iter_}), {a_round:,.0f} bytes a round, {moved / said:.3f} of the "
            "formula"
        )
        assert moved <= 1.5 * said

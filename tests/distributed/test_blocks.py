"""What is here: the messages between centre and parts, in one process - no cluster needed."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distributed.clusters import problem

from prml import PrML
from prml.distributed.centre import Centre, CentreCheckpoint, deal_labels
from prml.distributed.in_process import InProcess
from prml.distributed.part import Part, Settings
from prml.distributed.traffic import expected_bytes, expected_evaluation, smaller_in_factors
from prml.solvers import coupling
from prml.solvers.certificate import certify
from prml.solvers.feasibility import InfeasibleError
from prml.solvers.lowrank import run_rounds, solve_low_rank
from prml.solvers.svmplus import relative_gap

pytest.importorskip("distributed")  # messages are measured as Dask serialises them
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def read(model, X, Y):
    training_set, numbers = model._read_problem(X, Y, None)
    return training_set, numbers, float(model.gamma1)


def solve_in_blocks(model, X, Y, n_blocks, n_workers, crew=InProcess, checkpoint=None, **rest):
    training_set, numbers, gamma1 = read(model, X, Y)
    blocks = deal_labels(training_set, n_blocks)
    workers = crew(training_set, Settings(numbers, gamma1, model._seed()), blocks, n_workers)
    centre = Centre(workers, blocks, training_set, gamma1, **rest)
    solution = run_rounds(
        centre,
        tol=model.tol,
        max_iter=model.max_iter,
        monitor=model._monitor(),
        checkpoint=checkpoint,
    )
    return solution, centre


def solve_in_one(model, X, Y):
    return solve_low_rank(
        *read(model, X, Y),
        tol=model.tol,
        max_iter=model.max_iter,
        seed=model._seed(),
        monitor=model._monitor(),
    )


@settings(max_examples=12)
@given(
    n_blocks=st.integers(1, 12),
    n_workers=st.integers(1, 5),
    theta=st.sampled_from([2.0, np.inf]),
    missing=st.booleans(),
    seed=st.integers(0, 3),
)
def test_any_dealing_of_labels_gives_the_iterates_of_one_machine(
    n_blocks, n_workers, theta, missing, seed
):
    X, Y = problem(60, 8, 6, seed=seed)
    if missing:
        Y = np.where(np.random.default_rng(seed).random(Y.shape) < 0.1, np.nan, Y)
    model = PrML(C=0.3, theta=theta, tol=1e-2, max_iter=60, random_state=seed)
    one = solve_in_one(model, X, Y)
    many, _ = solve_in_blocks(model, X, Y, n_blocks, n_workers)
    assert many.n_iter == one.n_iter
    np.testing.assert_allclose(many.factors.product(), one.factors.product(), atol=1e-9)
    np.testing.assert_allclose(
        (many.objective, many.dual_objective), (one.objective, one.dual_objective), rtol=1e-9
    )
    for ours, theirs in zip(many.wt, one.wt, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_blocks_relieve_as_one_machine_does(monkeypatch):
    monkeypatch.setattr(coupling, "RELIEF_PAYS", 0.0)
    asked = []
    answer = Part.answer
    monkeypatch.setattr(
        Part,
        "answer",
        lambda self, request: (asked.append(request["op"]), answer(self, request))[1],
    )
    X, Y = problem(80, 8, 6, seed=1)
    model = PrML(C=0.1, theta=2.0, tol=1e-3, max_iter=60, random_state=0)
    one = solve_in_one(model, X, Y)
    many, _ = solve_in_blocks(model, X, Y, 4, 2)
    assert "shed" in asked
    assert many.n_iter == one.n_iter
    np.testing.assert_allclose(
        (many.objective, many.dual_objective), (one.objective, one.dual_objective), rtol=1e-9
    )


def test_without_the_privileged_intercept_blocks_enlarge_together():
    X, Y = problem(80, 30, 5)
    model = PrML(C=0.1, theta=2.0, privileged_intercept=False, tol=1e-2, random_state=0)
    one, (many, _) = solve_in_one(model, X, Y), solve_in_blocks(model, X, Y, 3, 2)
    np.testing.assert_allclose(many.objective, one.objective, rtol=1e-9)


def test_labels_without_a_solution_are_named_by_their_positions():
    X = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    Y = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    model = PrML(theta=np.inf, privileged_intercept=False, random_state=0)
    with pytest.raises(InfeasibleError) as one:
        solve_in_one(model, X, Y)
    with pytest.raises(InfeasibleError) as many:
        solve_in_blocks(model, X, Y, 1, 1)
    assert many.value.labels == one.value.labels


@pytest.mark.parametrize("n_workers", [1, 2, 6])
def test_bytes_a_round_are_those_of_the_formula(n_workers):
    X, Y = problem(120, 300, 24)
    solution, centre = solve_in_blocks(PrML(C=0.5, tol=1e-3, random_state=0), X, Y, 12, n_workers)
    rows = [sum(len(centre.blocks[b]) for b in home) for home in centre.workers.homes]
    rounds = centre.workers.traffic.rounds
    evaluation = expected_evaluation([len(wt) for wt in solution.wt])
    for before, entry in itertools.pairwise(rounds):
        down, up = expected_bytes(rows, centre.V.shape[1], before.rank, entry.reliefs)
        assert down <= entry.down <= 1.5 * down + 2000 * n_workers
        assert up <= entry.up <= 1.5 * (up + evaluation)


def test_factors_are_sent_exactly_when_they_are_less():
    assert smaller_in_factors(80, 1000, 20)
    assert not smaller_in_factors(80, 1000, 80)
    assert expected_bytes([80], 1000, 20)[0] == 8 * (20 * 1000 + 80 * 20)
    assert expected_bytes([80], 1000, 90)[0] == 8 * 80 * 1000


class Absent(InProcess):
    """The last worker misses some rounds, and its answer comes one ask later."""

    missed = range(3, 9)

    def ask(self, op, request):
        if op != "turn":
            return super().ask(op, request)
        self.n_turns = getattr(self, "n_turns", 0) + 1
        kept, self.late = getattr(self, "late", []), []
        answers = super().ask(op, request)
        if self.n_turns in self.missed:
            self.late = [answers.pop()]
        return [*kept, *answers]


class Forgetful(InProcess):
    """A worker starts anew at beta = C in some rounds."""

    def muster(self, round):
        moved = super().muster(round)
        if round in (4, 7, 11) and round != getattr(self, "last", None):
            self.last = round
            home = self.homes[0]
            self.parts[0].answer({"op": "take", "blocks": {b: self.blocks[b] for b in home}})
            moved = set(home)
            self.forgot = True
        return moved

    def lost(self):
        forgot, self.forgot = getattr(self, "forgot", False), False
        return forgot


@pytest.mark.parametrize("crew", [Absent, Forgetful])
def test_bounds_stay_true_when_workers_are_late_or_start_anew(crew):
    X, Y = problem(100, 15, 8)
    model = PrML(C=0.5, tol=1e-3, random_state=0)
    solution, centre = solve_in_blocks(model, X, Y, 4, 2, crew, keep_multipliers=True)
    assert relative_gap(solution.objective, solution.dual_objective) <= 1e-3
    solution = centre.with_multipliers(solution)
    checked = certify(
        *read(model, X, Y), solution.factors.product(),
        wt=solution.wt, wt0=solution.wt0, alpha=solution.alpha, beta=solution.beta,
    )  # fmt: skip
    assert checked.gap <= 1e-3 * (1 + 1e-6)
    np.testing.assert_allclose(checked.dual_objective, solution.dual_objective, rtol=1e-7)
    np.testing.assert_allclose(checked.objective, solution.objective, rtol=1e-7)
    one = solve_in_one(model, X, Y)
    np.testing.assert_allclose(solution.objective, one.objective, rtol=2e-3)


def test_a_fit_in_blocks_goes_on_on_one_machine_and_the_other_way_round(tmp_path):
    X, Y = problem()
    path = tmp_path / "state"
    part = PrML(C=0.5, tol=1e-4, random_state=0, max_iter=8, checkpoint=path).fit(X, Y)
    whole = PrML(C=0.5, tol=1e-4, random_state=0, checkpoint=path).fit(X, Y)
    assert not path.exists()

    def opened(model):
        training_set, numbers, _ = read(model, X, Y)
        return CentreCheckpoint(model._open_checkpoint(training_set, numbers))

    solve_in_blocks(part, X, Y, 4, 2, checkpoint=opened(part), keep_multipliers=True)
    assert path.exists()
    rest = PrML(C=0.5, tol=1e-4, random_state=0, checkpoint=path).fit(X, Y)
    assert rest.n_iter_ == whole.n_iter_
    np.testing.assert_allclose(rest.coef_, whole.coef_, atol=1e-8)
    assert not path.exists()

    part.fit(X, Y)
    rest = PrML(C=0.5, tol=1e-4, random_state=0, checkpoint=path)
    solution, _ = solve_in_blocks(rest, X, Y, 4, 2, checkpoint=opened(rest), keep_multipliers=True)
    assert solution.n_iter == whole.n_iter_
    np.testing.assert_allclose(solution.factors.product()[:, :-1], whole.coef_, atol=1e-8)


def test_labels_are_dealt_out_once_and_evenly():
    X, Y = problem(n_labels=10)
    training_set, _, _ = read(PrML(), X, Y)
    blocks = deal_labels(training_set, 4)
    assert sorted(np.concatenate(blocks)) == list(range(10))
    assert {len(block) for block in blocks} == {2, 3}
    assert len(deal_labels(training_set, 64)) == 10

"""What is here: PrMLCV - what it chooses, that it is honest, its table, limits and files."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.utils.estimator_checks import check_estimator
from tests.model_selection.halves import halves_of

import prml
from prml import PrBR, PrMLCV, load_model, save_model
from prml.cli import main
from prml.estimators.blending import Blend, choose_blend, choose_raised_blend
from prml.estimators.candidates import STEP, Candidate, make_learner, make_pipeline
from prml.estimators.feature_scaling import SCALINGS, FeatureScaler
from prml.estimators.fold_scores import Folds
from prml.export import to_onnx
from prml.metrics import average_precision, evaluate
from prml.model_selection import MultilabelStratifiedKFold
from prml.monitor import Monitor

QUICK = {"losses": ["squared", "logistic"], "gammas": [1.0]}


def problem(seed=0, n=120, d=6, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.5).astype(int)
    return X, Y


def test_scores_of_folds_are_those_of_whole_models():
    """The table's twin: cut, scale, fit and score by hand, cold."""
    X, Y = problem()
    X *= 1e4  # raw units
    model = PrMLCV(**QUICK).fit(X, Y)
    splits = list(MultilabelStratifiedKFold(3).split(X, Y))
    table = model.cv_results_
    for row in {model.best_index_, 0, len(table["params"]) - 1}:
        params = table["params"][row]
        candidate = Candidate(
            scaling=params["scaling"],
            loss=params["loss"],
            weight=params["C"] * params["theta"],
            theta=None if params["privileged"] is None else params["theta"],
            gamma2=params["gamma2"],
            gamma=params["gamma"],
            low_rank=params["low_rank"],
            transfer=params["transfer"],
            passthrough=params["passthrough"],
        )
        for k, (train, test) in enumerate(splits):
            whole = make_pipeline(candidate, len(train), tol=1e-4, cv=3).fit(X[train], Y[train])
            value = average_precision(Y[test], whole.decision_function(X[test]))
            assert table[f"split{k}_test_score"][row] == pytest.approx(value, abs=0.02)


def test_table_and_best_belong_together():
    model = PrMLCV(**QUICK, scoring="ranking_loss").fit(*problem())
    table = model.cv_results_
    n = len(table["params"])
    assert all(len(column) == n for column in table.values())
    splits = np.array([table[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(table["standard_error"], splits.std(axis=0, ddof=1) / 3**0.5)
    best = model.best_index_
    assert table["rank_test_score"][best] == 1
    assert model.best_score_ == table["mean_test_score"].min()  # lower is better here
    assert model.best_params_ == table["params"][best]
    assert len({str(p) for p in table["params"]}) == n  # nothing is tried twice
    fitted = model.best_estimator_.named_steps["model"]
    assert (
        model.score(*problem())
        == -evaluate(problem()[1], model.decision_function(problem()[0]), metrics=["ranking_loss"])[
            "ranking_loss"
        ]
    )
    assert fitted is not None


def test_few_rows_screen_and_all_rows_decide():
    X, Y = problem(n=300)
    model = PrMLCV(**QUICK, screen_samples=90).fit(X, Y)
    table = model.cv_results_
    assert set(table["n_samples"]) == {90, 300}
    assert table["n_samples"][model.best_index_] == 300
    assert set(table["stage"][table["n_samples"] == 90]) == {"features", "members"}


def test_units_of_the_features_do_not_matter():
    X, Y = problem()
    small = PrMLCV(**QUICK).fit(X * 1e-6, Y)
    large = PrMLCV(**QUICK).fit(X * 1e6, Y)
    assert small.best_params_ == large.best_params_
    assert small.best_score_ == pytest.approx(large.best_score_, abs=1e-6)
    np.testing.assert_array_equal(small.predict(X * 1e-6), large.predict(X * 1e6))


def test_chooses_a_kernel_where_only_a_kernel_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    radius = np.linalg.norm(X, axis=1)
    Y = np.stack([radius > 1.2, radius < 0.8, X[:, 0] * X[:, 1] > 0, radius > 1.8], 1).astype(int)
    curved = PrMLCV(losses=["squared"], transfer=False, teacher=False).fit(X, Y)
    assert curved.best_params_["kernel"] == "rbf"
    straight = PrMLCV(losses=["squared"], gammas=[], transfer=False, teacher=False).fit(X, Y)
    assert curved.best_score_ > straight.best_score_ + 0.1


def test_noise_is_told_as_noise():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(150, 40)), rng.normal(size=(500, 40))
    Y = (rng.random((650, 5)) < 0.4).astype(int)
    model = PrMLCV(**QUICK, scoring="macro_auc").fit(X, Y[:150])
    assert model.best_score_ < 0.62  # the largest of many values around a half
    assert evaluate(Y[150:], model.decision_function(new))["macro_auc"] == pytest.approx(
        0.5, abs=0.05
    )


def test_result_does_not_depend_on_n_jobs():
    X, Y = problem()
    one = PrMLCV(**QUICK).fit(X, Y)
    two = PrMLCV(**QUICK, n_jobs=2).fit(X, Y)
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_callbacks_see_progress_and_can_stop():
    X, Y = problem()
    seen = []

    def watch(record):
        seen.append(record)
        return record["stage"] == "members"

    model = PrMLCV(**QUICK, callbacks=watch).fit(X, Y)
    assert model.stopped_by_ == "callback"
    assert [r["stage"] for r in seen][-2:] == ["members", "fitted"]
    assert model.predict(X).shape == Y.shape


def test_time_limit_is_kept():
    X, Y = problem(n=600, d=30, n_labels=20)
    PrMLCV(**QUICK, max_time=0.01).fit(X, Y)  # compiles
    start = time.perf_counter()
    model = PrMLCV(max_time=2.0).fit(X, Y)
    assert model.stopped_by_ == "time limit"
    assert time.perf_counter() - start < 20.0  # slow machines too; the whole search is far longer
    assert model.predict(X).shape == Y.shape


def test_interrupt_keeps_the_best_so_far(monkeypatch):
    X, Y = problem()
    plain, fits = PrBR.fit, []

    def interrupted_once(self, X, y):
        fits.append(self)
        if len(fits) == 40:
            warnings.warn("Interrupted: best so far kept.", RuntimeWarning, stacklevel=2)
        return plain(self, X, y)

    monkeypatch.setattr(PrBR, "fit", interrupted_once)
    with pytest.warns(RuntimeWarning, match="Interrupted"):
        model = PrMLCV(losses=["squared"], gammas=[]).fit(X, Y)
    assert model.stopped_by_ == "interrupt"
    assert model.predict(X).shape == Y.shape


def test_command_line_searches(tmp_path, capsys):
    X, Y = problem()
    np.savez(tmp_path / "data.npz", X=X, Y=Y)
    path = tmp_path / "m.prml"
    argv = ["fit", tmp_path / "data.npz", "-o", path, "--cv", "3", "-p", 'losses=["squared"]']
    assert main([*map(str, argv), "-p", "gammas=[]", "--jobs", "1"]) == 0
    assert "best score" in capsys.readouterr().out
    model = load_model(path)
    assert type(model) is PrMLCV
    np.testing.assert_array_equal(
        model.predict(X), PrMLCV(cv=3, losses=["squared"], gammas=[]).fit(X, Y).predict(X)
    )


@pytest.mark.parametrize("kind", ["binary", "multiclass", "missing", "sparse", "one label"])
def test_every_kind_of_target(kind):
    X, Y = problem()
    y = {
        "binary": np.array(["no", "yes"])[Y[:, 0]],
        "multiclass": np.array(["a", "b", "c"])[Y[:, :2].sum(axis=1)],
        "missing": np.where(np.random.default_rng(1).random(Y.shape) < 0.3, np.nan, Y),
        "sparse": sp.csr_matrix(Y),
        "one label": Y[:, :1],
    }[kind]
    if kind == "sparse":
        X = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0.0))
    model = PrMLCV(losses=["squared"], gammas=[]).fit(X, y)
    assert model.scoring_ == (
        "macro_auc" if kind in ("binary", "one label") else "average_precision"
    )
    predicted = model.predict(X)
    if kind in ("binary", "multiclass"):
        assert (predicted == y).mean() > 0.6
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    else:
        assert predicted.shape == y.shape
        assert ((model.predict_proba(X) > 0.5) == predicted).all()


def test_saved_and_loaded(tmp_path):
    X, Y = problem()
    model = prml.PrMLCV(**QUICK).fit(X, Y)
    again = load_model(save_model(model, tmp_path / "m.prml"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.best_params_ == model.best_params_
    np.testing.assert_array_equal(
        again.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scoring": "accuracy"}, "no metric 'accuracy'"),
        ({"losses": ["cubic"]}, "losses is .* expected some of squared"),
        ({"losses": []}, "losses is"),
        ({"scalings": ["big"]}, "scalings is .* expected some of none"),
        ({"gammas": [-1.0]}, "gammas is .* expected numbers above 0"),
        ({"screen_samples": 0}, "screen_samples is 0"),
        ({"teacher": "maybe"}, "teacher is 'maybe'"),
    ],
)
def test_bad_parameters_are_told(settings, words):
    with pytest.raises(ValueError, match=words):
        PrMLCV(**settings).fit(*problem(n=30))


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it():
    check_estimator(
        PrMLCV(losses=["squared"], gammas=[], transfer=False, teacher=False, low_rank=False, cv=2),
        on_skip=None,
    )
    check_estimator(FeatureScaler("standard"), on_skip=None)


def test_scalings():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 7.0, size=(50, 5))
    X[:, 4] = 2.0
    standard = StandardScaler().fit_transform(X)
    standard /= np.sqrt((standard**2).sum(axis=1).mean())
    np.testing.assert_allclose(FeatureScaler("standard").fit_transform(X), standard, atol=1e-12)
    np.testing.assert_allclose(FeatureScaler("unit").fit_transform(X), normalize(X))
    scaled = FeatureScaler("none").fit_transform(X)
    np.testing.assert_allclose(scaled / X, scaled[0, 0] / X[0, 0])
    assert (scaled**2).sum(axis=1).mean() == pytest.approx(1.0)
    words = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    weighted = words * (np.log(4 / np.array([4, 2])) + 1)
    np.testing.assert_allclose(FeatureScaler("idf").fit_transform(words), normalize(weighted))
    for method in SCALINGS:
        sparse = FeatureScaler(method).fit(sp.csr_matrix(words))
        assert sp.issparse(sparse.transform(sp.csr_matrix(words)))
        if method != "standard":  # sparse columns are not centred
            dense = FeatureScaler(method).fit(words)
            np.testing.assert_allclose(
                sparse.transform(sp.csr_matrix(words)).toarray(), dense.transform(words)
            )
    with pytest.raises(ValueError, match="method is 'log'; expected one of none"):
        FeatureScaler("log").fit(X)


def test_rows_of_length_1_are_not_scaled_to_length_1():
    X = problem()[0]
    for rows in (X, sp.csr_matrix(X)):
        assert "unit" in PrMLCV()._space(rows, 2).scalings
        assert "unit" not in PrMLCV()._space(normalize(rows), 2).scalings


def test_candidates_are_what_they_say():
    learner = make_learner(Candidate(loss="logistic", weight=6.0, theta=3.0), 50)
    assert (learner.C, learner.theta, learner.privileged) == (2.0, 3.0, "all")
    learner = make_learner(Candidate(weight=6.0, low_rank=True), 50)
    assert (type(learner).__name__, learner.C, learner.privileged) == ("PrML", 6.0, None)
    learner = make_learner(Candidate(gamma=2.0, transfer=0.5), 5000)
    assert (learner.scale, learner.estimator.n_landmarks) == (0.5, 1000)


@pytest.mark.long
@pytest.mark.parametrize("name", ["yeast", "enron", "debtags"])
def test_within_a_hundredth_of_trying_everything(name):
    """On new data, the search is as good as the best of its whole grid (weights a step apart)."""
    X, X_test, Y, Y_test = halves_of(name)
    chosen = PrMLCV(n_jobs=2).fit(X, Y)
    reached = average_precision(Y_test, chosen.decision_function(X_test))
    folds = Folds(
        X, Y, list(MultilabelStratifiedKFold(3).split(X, Y)), chosen.scoring_, 1e-2, 0, Monitor()
    )
    space = chosen._space(X, Y.shape[1])
    families = [
        family
        for scaling in space.scalings
        for gamma in (None, *space.gammas)
        for family in space.members(scaling, gamma)
    ]
    paths = [(f, [f.usual_weight * STEP**k for k in range(-2, 3)]) for f in families]
    best = max(folds.score(paths, n_jobs=2), key=lambda scored: scored.mean)
    best_model = make_pipeline(best.candidate, X.shape[0]).fit(X, Y)
    possible = average_precision(Y_test, best_model.decision_function(X_test))
    print(f"{name}: folds {chosen.best_score_:.4f} of {best.mean:.4f}, ", end="")
    print(f"new data {reached:.4f} of {possible:.4f}")
    assert chosen.best_score_ > best.mean - 0.01
    assert reached > possible - 0.01


def test_a_path_ends_when_its_rung_has_had_its_share():
    X, Y = problem()
    folds = Folds(
        X,
        Y,
        list(MultilabelStratifiedKFold(3).split(X, Y)),
        "average_precision",
        1e-2,
        0,
        Monitor(),
    )
    folds.until = -1.0
    assert folds.score([(Candidate(), (1.0, 3.0))], n_jobs=1) == []
    assert not folds.out_of_time  # the search goes on, with other families
    folds.until = np.inf
    assert len(folds.score([(Candidate(), (1.0, 3.0))], n_jobs=1)) == 2


class Clock:
    """A monitor and a clock by which a logistic fit takes a second, and nothing else any time."""

    def __init__(self):
        self.elapsed, self.remaining, self.max_time = 0.0, np.inf, None

    def perf_counter(self):
        return self.elapsed


@pytest.fixture
def timed(monkeypatch):
    """Folds with a `Clock`, and the list of what is fitted."""
    fits, clock = [], Clock()

    class Timed(PrBR):
        def fit(self, X, y):
            fits.append(self.loss)
            clock.elapsed += self.loss == "logistic"
            return super().fit(X, y)

    monkeypatch.setattr("prml.estimators.candidates.PrBR", Timed)
    monkeypatch.setattr("prml.estimators.fold_scores.time", clock)
    X, Y = problem()
    splits = list(MultilabelStratifiedKFold(3).split(X, Y))
    return Folds(X, Y, splits, "average_precision", 1e-2, 0, clock), fits


PATHS = [(Candidate(loss="logistic"), (1.0, 2.0, 3.0)), (Candidate(), (1.0,))]


@pytest.mark.parametrize(
    ("until", "n_weights", "n_fits"), [(9, 3, 9), (8, 2, 6), (3, 1, 3), (2, 0, 1)]
)
def test_of_a_path_that_will_not_end_in_time_the_first_weights_are_scored(
    timed, until, n_weights, n_fits
):
    folds, fits = timed
    folds.until = until + 0.1
    found = [(s.candidate.loss, s.candidate.weight) for s in folds.score(PATHS, n_jobs=1)]
    assert found == [("logistic", 1.0 + k) for k in range(n_weights)] + [("squared", 1.0)]
    assert fits == ["logistic"] * n_fits + ["squared"] * 3


def test_a_fit_that_its_limit_cuts_is_the_end_of_its_path(timed, monkeypatch):
    folds, fits = timed
    monkeypatch.setattr(folds, "_limit", lambda: 1.0)
    assert [s.candidate.loss for s in folds.score(PATHS, n_jobs=1)] == ["squared"]
    assert fits == ["logistic"] + ["squared"] * 3


def test_time_limit_of_the_last_fit_is_not_that_of_its_clones(monkeypatch):
    given = []

    class Limited(PrBR):
        def fit(self, X, y):
            given.append(self.max_time)
            return super().fit(X, y)

    monkeypatch.setattr("prml.estimators.candidates.PrBR", Limited)
    model = PrMLCV(losses=["squared"], gammas=[], max_time=60).fit(*problem())
    assert 0 < given[-1] < 60
    params = model.best_estimator_.get_params()
    assert all(value is None for name, value in params.items() if name.endswith("max_time"))


def test_clone_keeps_parameters():
    assert clone(PrMLCV(cv=4, losses=["hinge"])).get_params()["losses"] == ["hinge"]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_exported(scaling):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    X, Y = problem()
    model = PrMLCV(losses=["squared"], gammas=[1.0], scalings=[scaling]).fit(X, Y)
    session = runtime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = session.get_inputs()[0]
    answers = session.run(["scores"], {given.name: X.astype(np.float32)})[0]
    np.testing.assert_allclose(answers, model.decision_function(X), atol=1e-3)


@pytest.fixture
def blended(monkeypatch):
    """A search that ends with two members, whatever they are worth, and its data."""

    def two(pool, floors, values_of, sign, size):
        assert len(pool) >= 2
        return Blend([0, 1], np.array([0.7, 0.2]), values_of(pool[0])), np.full(2, -np.inf)

    monkeypatch.setattr("prml.estimators.prmlcv.choose_raised_blend", two)
    X, Y = problem()
    return PrMLCV(**QUICK).fit(X, Y), X


def test_scores_of_a_blend_are_those_of_its_members(blended):
    model, X = blended
    assert len(model.members_) == len(model.member_params_) == 2
    assert model.member_params_[0] == model.best_params_ != model.member_params_[1]
    assert model.member_floors_.tolist() == [-np.inf, -np.inf]
    one, two = (member.decision_function(X) for member in model.members_)
    np.testing.assert_allclose(model.decision_function(X), 0.7 * one + 0.2 * two)
    chances = np.mean([member.predict_proba(X) for member in model.members_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), chances)


def test_low_scores_of_a_member_are_raised_to_its_floor(blended):
    model, X = blended
    one, two = (member.decision_function(X) for member in model.members_)
    model.member_floors_ = np.array([-np.inf, -1.0])
    assert (two < -1.0).any()
    expected = 0.7 * one + 0.2 * np.maximum(two, -1.0)
    np.testing.assert_allclose(model.decision_function(X), expected)


@pytest.mark.parametrize("floors", [(-np.inf, -np.inf), (-1.0, -np.inf)])
def test_a_blend_is_saved_loaded_and_exported(blended, tmp_path, floors):
    model, X = blended
    model.member_floors_ = np.array(floors)
    again = load_model(save_model(model, tmp_path / "blend.prml"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    for exported in (to_onnx(model), to_onnx(again)):
        session = runtime.InferenceSession(
            exported.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        given = session.get_inputs()[0]
        answers = session.run(["scores"], {given.name: X.astype(np.float32)})[0]
        np.testing.assert_allclose(answers, model.decision_function(X), atol=1e-3)


def test_a_member_is_added_only_when_every_fold_gains():
    truth = np.array([1.0, -1.0, 1.0, -1.0])
    right, wrong = 2.0 * truth, -0.1 * truth
    half = np.array([1.0, -1.0, -0.5, 0.5])
    other = np.array([-0.5, 0.5, 1.0, -1.0])

    def hits(folds):
        return np.array([np.mean(fold * truth > 0) for fold in folds])

    assert choose_blend([[half, half], [other, other]], hits, 1, 3).members == [0, 1]
    # better on the first fold, no better on the second: not taken
    assert choose_blend([[half, right], [other, right]], hits, 1, 3).members == [0]
    loose = choose_blend([[half, right], [other, right]], hits, 1, 3, on_every_fold=False)
    assert loose.members == [0, 1]
    assert choose_blend([[half, half], [wrong, wrong]], hits, 1, 3).factors.tolist() == [1.0]


def test_beside_log_odds_the_chance_below_the_floor_is_taken_away():
    """The low half of the first member is noise; the second ranks it."""
    rng = np.random.default_rng(0)
    truth = np.linspace(-1.0, 1.0, 400)
    folds = range(3)
    low = [np.where(truth < 0, -1.0 - 3 * rng.random(400), 3 * truth) for _ in folds]
    ranks = [truth + 0.3 * rng.normal(size=400) for _ in folds]

    def goal(scores):
        return np.array([np.corrcoef(fold, truth)[0, 1] for fold in scores])

    pool, floors = [low, ranks], np.array([-1.0, -np.inf])
    plain = choose_blend(pool, goal, 1, 3)
    raised, used = choose_raised_blend(pool, floors, goal, 1, 3)
    assert (raised.members, used.tolist()) == ([0, 1], [-1.0, -np.inf])
    assert (raised.values > plain.values).all()
    a, b = raised.factors
    again = [a * np.maximum(low[k], -1.0) + b * ranks[k] for k in folds]
    np.testing.assert_allclose(goal(again), raised.values)


def test_scores_stay_as_they_are_where_raising_them_is_worse_or_nobody_ranks_below():
    truth = np.linspace(-1.0, 1.0, 50)
    good, chance = [3.0 * truth] * 3, [np.random.default_rng(0).normal(size=50)] * 3

    def goal(scores):
        return np.array([np.corrcoef(fold, truth)[0, 1] for fold in scores])

    for floors in (np.array([-1.0, -np.inf]), np.array([-1.0, -1.0]), np.full(2, -np.inf)):
        blend, used = choose_raised_blend([good, chance], floors, goal, 1, 3)
        assert blend.members == [0] and np.isneginf(used).all()

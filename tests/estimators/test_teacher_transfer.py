"""What is here: TeacherTransfer - no leak, the plain twin, real halves, sparse, saved models."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import check_estimator
from tests.model_selection.halves import halves_of

import prml
from prml import PrBR, TeacherTransfer, load_model, save_model
from prml.export import to_onnx
from prml.metrics import evaluate, macro_auc
from prml.model_selection import MultilabelStratifiedKFold, cross_fitted_scores

RIDGE = PrBR(loss="squared", privileged=None, theta=1.0)


def problem(seed=0, n=80, d=6, n_labels=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, n_labels)) + rng.normal(size=(n, n_labels)) > 0.5).astype(int)
    return X, Y


class Memory(ClassifierMixin, BaseEstimator):
    """Scores a row 1 when it was fitted to it, else 0; the first column of X names the row."""

    def fit(self, X, y):
        self.seen_ = set(X[:, 0].astype(int).tolist())
        self.X_ = X
        self.n_labels_ = y.shape[1]
        return self

    def decision_function(self, X):
        seen = [float(int(row) in self.seen_) for row in X[:, 0]]
        return np.repeat(np.array(seen)[:, None], self.n_labels_, axis=1)

    def predict(self, X):
        return (self.decision_function(X) > 0).astype(int)


@pytest.mark.parametrize("cv", [2, 5, MultilabelStratifiedKFold(3, shuffle=True, random_state=1)])
def test_no_row_is_scored_by_a_model_that_saw_it(cv):
    X, Y = problem()
    X[:, 0] = np.arange(len(X))
    model = TeacherTransfer(Memory(), cv=cv).fit(X, Y)
    # a row that had been seen would have a score of 1, and the mean would not be 0
    assert (model.score_mean_ == 0.0).all()
    assert (model.final_estimator_.X_[:, X.shape[1] :] == 0.0).all()
    assert model.estimator_.seen_ == set(range(len(X)))


def test_rows_of_a_group_do_not_score_each_other():
    X, Y = problem(n=60)
    X[:, 0] = np.repeat(np.arange(20), 3)  # Memory knows a row by its group
    groups = X[:, 0]
    assert TeacherTransfer(Memory(), cv=4).fit(X, Y).score_mean_.max() > 0.0
    assert TeacherTransfer(Memory(), cv=4).fit(X, Y, groups=groups).score_mean_.max() == 0.0


def test_noise_is_not_learnt():
    """Labels independent of x, rows many enough to remember: chance on new data."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(200, 300)), rng.normal(size=(2000, 300))
    shared = rng.random((2200, 1)) < 0.5  # the labels depend on each other, not on x
    Y = (rng.random((2200, 6)) < np.where(shared, 0.7, 0.2)).astype(int)
    model = TeacherTransfer(RIDGE).fit(X, Y[:200])
    assert macro_auc(Y[:200], model.decision_function(X)) > 0.9  # it could remember
    assert macro_auc(Y[200:], model.decision_function(new)) == pytest.approx(0.5, abs=0.03)
    # honest scores of noise are worth nothing to the second stage, in-sample ones all
    alone = TeacherTransfer(RIDGE, passthrough=False).fit(X, Y[:200])
    honest = alone._with_scores(X, cross_fitted_scores(RIDGE, X, Y[:200]))
    assert macro_auc(Y[:200], alone.final_estimator_.decision_function(honest)) < 0.75
    in_sample = alone.estimator_.decision_function(X)
    leaky = clone(RIDGE).fit(in_sample, Y[:200])
    assert macro_auc(Y[:200], leaky.decision_function(in_sample)) > 0.95


@pytest.mark.parametrize("passthrough", [True, False])
def test_plain_twin(passthrough):
    X, Y = problem()
    cv = MultilabelStratifiedKFold(4)

    def ridge(rows, signs):  # the intercept as a regularised feature
        return Ridge(alpha=1.0, fit_intercept=False).fit(with_one(rows), signs)

    def with_one(rows):
        return np.hstack([rows, np.ones((len(rows), 1))])

    signs = 2.0 * Y - 1.0
    scores = np.empty(Y.shape)
    for train, test in cv.split(X, Y):
        scores[test] = ridge(X[train], signs[train]).predict(with_one(X[test]))
    centred = scores - scores.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=1).mean())
    factor = 0.5 * np.sqrt((X**2).sum(axis=1).mean()) / length
    new = problem(1)[0]
    train = np.hstack([X, centred * factor]) if passthrough else centred * factor
    moved = (ridge(X, signs).predict(with_one(new)) - scores.mean(axis=0)) * factor
    test = np.hstack([new, moved]) if passthrough else moved
    expected = ridge(train, signs).predict(with_one(test))

    model = TeacherTransfer(RIDGE, cv=cv, scale=0.5, passthrough=passthrough).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-8)
    np.testing.assert_array_equal(model.predict(new), expected > 0)


def test_sparse_stays_sparse_and_equals_dense():
    X, Y = problem()
    X[np.abs(X) < 1.0] = 0.0
    seen = []

    class Watched(PrBR):
        def fit(self, X, y):
            seen.append(type(X))
            return super().fit(X, y)

    dense = TeacherTransfer(RIDGE, cv=3).fit(X, Y)
    sparse = TeacherTransfer(Watched(loss="squared", privileged=None, theta=1.0), cv=3)
    sparse.fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    assert len(seen) == 5 and all(issubclass(kind, sp.csr_matrix | sp.csr_array) for kind in seen)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-8
    )
    single = TeacherTransfer(RIDGE, cv=3).fit(X.astype(np.float32), Y)
    assert single._second_stage_features(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("pool", "expected"),
    [("all", [0, 1, 2, 3, 4]), (2, [1, 3]), ([4, 0, 4], [0, 4]), (9, range(5))],
)
def test_pools(pool, expected):
    X, Y = problem()
    Y[:] = np.arange(len(Y))[:, None] < np.array([5, 30, 10, 40, 8])
    model = TeacherTransfer(RIDGE, cv=3, pool=pool).fit(X, Y)
    assert model.pool_.tolist() == list(expected)
    assert model.final_estimator_.n_features_in_ == X.shape[1] + len(expected)


def test_any_multilabel_estimator_and_two_different_ones():
    X, Y = problem()
    forest = RandomForestClassifier(n_estimators=10, random_state=0)
    model = TeacherTransfer(RIDGE, final_estimator=forest, cv=3).fit(X, Y)
    assert model.decision_function(X).shape == Y.shape
    np.testing.assert_array_equal(
        model.predict(X), model.final_estimator_.predict(model._second_stage_features(X))
    )
    assert hasattr(model, "predict_proba")
    assert not hasattr(TeacherTransfer(Memory()), "predict_proba")
    turned = TeacherTransfer(forest, final_estimator=RIDGE, cv=3).fit(X, Y)
    assert turned.predict_proba(X).shape == Y.shape


def test_prefit_first_stage():
    X, Y = problem(n=120)
    first = clone(RIDGE).fit(X[:60], Y[:60])
    model = TeacherTransfer(first, final_estimator=RIDGE, cv="prefit").fit(X[60:], Y[60:])
    assert model.estimator_ is first
    with pytest.raises(ValueError, match=r"scores of shape \(60, 5\)"):
        TeacherTransfer(first, cv="prefit").fit(X[60:], Y[60:, :3])


def test_missing_labels_and_names():
    pd = pytest.importorskip("pandas")
    X, Y = problem()
    hidden = Y.astype(float)
    hidden[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    frame = pd.DataFrame(hidden, columns=list("abcde"))
    columns = [f"x{i}" for i in range(X.shape[1])]
    model = TeacherTransfer(RIDGE, cv=3).fit(pd.DataFrame(X, columns=columns), frame)
    assert model.label_names_.tolist() == list("abcde")
    assert model.feature_names_in_.tolist() == columns
    assert model.predict_top_k(pd.DataFrame(X, columns=columns), 2).shape == (len(X), 2)


def test_saved_and_loaded(tmp_path):
    X, Y = problem()
    model = prml.TeacherTransfer(RIDGE, cv=3, pool=3).fit(X, Y)
    again = load_model(save_model(model, tmp_path / "m.prml"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scale": 0.0}, "scale is 0.0; expected a finite number above 0"),
        ({"scale": "big"}, "scale is 'big'"),
        ({"pool": 0}, "pool is 0; expected at least one label"),
        ({"pool": "some"}, "pool is 'some'; expected 'all'"),
        ({"pool": [7]}, "pool holds the position 7; expected positions from 0 to 4"),
    ],
)
def test_bad_parameters_are_told(settings, words):
    with pytest.raises(ValueError, match=words):
        TeacherTransfer(RIDGE, **settings).fit(*problem())


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_accepts_it():
    check_estimator(TeacherTransfer(RIDGE, cv=2), on_skip=None)


@pytest.mark.parametrize(
    ("name", "alpha", "gain"), [("corel5k", 30.0, 0.02), ("enron", 3.0, 0.002)]
)
def test_real_halves_gain(name, alpha, gain):
    X, X_test, Y, Y_test = halves_of(name)
    X, X_test = normalize(X), normalize(X_test)
    ridge = PrBR(loss="squared", privileged=None, theta=1.0, C=1.0 / alpha)
    names = ["average_precision", "ranking_loss", "macro_auc"]
    plain = evaluate(Y_test, clone(ridge).fit(X, Y).decision_function(X_test), metrics=names)
    model = TeacherTransfer(ridge).fit(X, Y)
    taught = evaluate(Y_test, model.decision_function(X_test), metrics=names)
    assert taught["average_precision"] > plain["average_precision"] + gain
    if name == "corel5k":
        alone = TeacherTransfer(ridge, passthrough=False).fit(X, Y)
        from_scores = evaluate(Y_test, alone.decision_function(X_test), metrics=names)
        assert from_scores["ranking_loss"] < plain["ranking_loss"]
        assert from_scores["macro_auc"] > plain["macro_auc"] + 0.02


@pytest.mark.parametrize("passthrough", [True, False])
def test_exported(passthrough):
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    X, Y = problem()
    model = TeacherTransfer(RIDGE, cv=3, pool=3, passthrough=passthrough).fit(X, Y)
    session = runtime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = session.get_inputs()[0]
    answers = session.run(["scores"], {given.name: X.astype(np.float32)})[0]
    np.testing.assert_allclose(answers, model.decision_function(X), atol=1e-4)

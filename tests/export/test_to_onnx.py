"""What is here: ONNX files against the estimators they come from, run by onnxruntime."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from prml import PrBR, PrML
from prml.baselines import LEML, ML2, BinaryRelevance
from prml.datasets import load_dataset, load_debtags
from prml.export import to_onnx
from prml.model_selection import MultilabelCalibrator, ThresholdTuner

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

pytestmark = pytest.mark.filterwarnings(
    "ignore:For .* labels:UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)

X, Y = make_multilabel_classification(n_samples=120, n_features=12, n_classes=6, random_state=0)
X = X / 10.0


def run(proto, **inputs):
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return dict(
        zip([o.name for o in session.get_outputs()], session.run(None, inputs), strict=True)
    )


def assert_same_answers(model, X, atol=1e-5, dtype=np.float32):
    """Every answer of the file is that of the model."""
    answers = run(to_onnx(model, dtype=dtype), X=np.asarray(X, dtype=dtype))
    np.testing.assert_allclose(answers["scores"], model.decision_function(X), atol=atol)
    assert answers["scores"].dtype == dtype
    if "probabilities" in answers:
        np.testing.assert_allclose(answers["probabilities"], model.predict_proba(X), atol=atol)
    if "labels" in answers:
        assert (answers["labels"] == model.predict(X)).all()
        assert answers["labels"].shape == model.predict(X).shape
    return answers


MEMBERS = {
    "PrBR": PrBR(C=0.1),
    "PrBR without intercept": PrBR(C=0.1, fit_intercept=False),
    "PrML": PrML(C=0.1, random_state=0),
    "PrML of low rank": PrML(C=0.5, gamma1=2.0, n_components=2, random_state=0),
    "squared hinge": PrBR(C=0.5, loss="squared_hinge"),
    "rbf": PrBR(C=0.5, kernel="rbf"),
    "rbf through landmarks": PrBR(C=0.5, kernel="rbf", n_landmarks=30, random_state=0),
    "poly": PrBR(C=0.5, kernel="poly", degree=2),
    "low rank in a kernel": PrML(C=0.5, kernel="rbf", random_state=0),
    "BinaryRelevance": BinaryRelevance(loss="logistic"),
    "hard BinaryRelevance": BinaryRelevance(scores="hard", random_state=0),
    "LEML": LEML(n_components=2, random_state=0),
    "LEML of full rank": LEML(random_state=0, tol=0.2),
    "ML2": ML2(random_state=0),
    "cuts": ThresholdTuner(PrBR(C=0.1), cv=3, min_positives=5),
    "one cut": ThresholdTuner(LEML(n_components=2, random_state=0), strategy="global", cv=3),
    "top k": ThresholdTuner(PrBR(C=0.1), strategy="top_k", k=2, cv=3),
    "sigmoids": MultilabelCalibrator(PrBR(C=0.1), cv=3),
    "cuts on sigmoids": ThresholdTuner(MultilabelCalibrator(PrBR(C=0.1), cv=3), cv=3),
}


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_members(name, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = MEMBERS[name].fit(X, Y)
    answers = assert_same_answers(model, X, dtype=dtype)
    assert ("probabilities" in answers) == hasattr(model, "predict_proba")


def test_precomputed_kernel():
    kernel = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = PrBR(C=0.5, kernel="precomputed", n_landmarks=40, random_state=0)
    assert_same_answers(model.fit(kernel, Y), kernel)


def test_low_rank_goes_through_the_factors():
    model = LEML(n_components=1, random_state=0).fit(X, Y)
    sizes = [int(np.prod(c.dims)) for c in to_onnx(model).graph.initializer]
    assert max(sizes) == X.shape[1] < model.coef_.size


def test_ties_of_top_k_go_to_the_first_label():
    model = ThresholdTuner(PrBR(C=0.1), strategy="top_k", k=2, cv=3).fit(X, Y)
    model.estimator_.coef_[:] = 0.0
    model.estimator_.intercept_[:] = 1.0
    labels = run(to_onnx(model), X=X.astype(np.float32))["labels"]
    assert (labels == [1, 1, 0, 0, 0, 0]).all() and (labels == model.predict(X)).all()


@pytest.mark.parametrize(
    "classes", [[0, 1], ["no", "yes"], [3, 5, 9], ["a", "ü", "<script>"], [0.5, 1.5, 2.5]]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda: PrBR(C=0.1),
        lambda: BinaryRelevance(random_state=0),
        lambda: MultilabelCalibrator(PrBR(C=0.1), cv=2),
        lambda: ThresholdTuner(PrBR(C=0.1), strategy="global", cv=2),
    ],
)
def test_one_dimensional_y(classes, make):
    X, y = make_classification(
        80, 6, n_informative=4, n_classes=len(classes), random_state=0, class_sep=2
    )
    y = np.array([str(c) for c in classes] if isinstance(classes[0], str) else [0, 1, 2])[y]
    assert_same_answers(make().fit(X, y), X, atol=2e-5)


def test_steps_before_the_estimator():
    for step in (
        Normalizer(),
        Normalizer("l1"),
        Normalizer("max"),
        StandardScaler(),
        StandardScaler(with_mean=False),
        MaxAbsScaler(),
        MinMaxScaler(clip=True),
        "passthrough",
    ):
        model = Pipeline([("step", step), ("model", PrBR(C=0.1))]).fit(X, Y)
        rows = np.vstack([X, np.zeros((1, X.shape[1])), 3 * X[:5]])
        assert_same_answers(model, rows)


@settings(max_examples=15, deadline=None)
@given(
    n_labels=st.integers(1, 5),
    n_features=st.integers(1, 7),
    n_rows=st.integers(0, 4),
    scale=st.sampled_from([1e-6, 1.0, 1e3]),
    seed=st.integers(0, 99),
)
def test_linear_scores_are_a_product(n_labels, n_features, n_rows, scale, seed):
    rng = np.random.default_rng(seed)
    model = PrBR().fit(np.eye(n_features), np.ones((n_features, n_labels)))
    model.coef_ = scale * rng.normal(size=(n_labels, n_features))
    model.intercept_ = rng.normal(size=n_labels)
    rows = rng.normal(size=(n_rows, n_features))
    answers = run(to_onnx(model, dtype=np.float64), X=rows)
    slow = [
        [sum(w * x for w, x in zip(model.coef_[i], row, strict=True)) + model.intercept_[i]
         for i in range(n_labels)]
        for row in rows
    ]  # fmt: skip
    slow = np.reshape(slow, (n_rows, n_labels))
    np.testing.assert_allclose(answers["scores"], slow, rtol=1e-12, atol=1e-12 * scale)
    assert (answers["labels"] == (slow > 0)).all()


HOSTILE = [
    "<script>alert(1)</script>",
    'a"b',
    "scores",
    "X",
    "labels\n",
    "\ud800",
    "日本",
    "",
    "../a",
]


def test_hostile_label_names_stay_data():
    Y9 = np.hstack([Y, Y[:, :3]])
    model = PrBR(C=0.1, random_state=0).fit(
        X, pd.DataFrame(Y9, columns=pd.Index(HOSTILE, dtype=object))
    )
    proto = to_onnx(model)
    plain = to_onnx(PrBR(C=0.1, random_state=0).fit(X, Y9))
    assert (
        proto.graph.SerializeToString() == plain.graph.SerializeToString()
    )  # names have no way into it
    assert_same_answers(model, X)
    again = onnx.load_from_string(proto.SerializeToString())
    told = {entry.key: entry.value for entry in again.metadata_props}
    assert json.loads(told["label_names"]) == HOSTILE and told["label_names"].isascii()


def test_hostile_classes_of_a_one_dimensional_y():
    y = np.array(["\ud800", 'a"', "<b>"], dtype=object)[np.arange(len(X)) % 3]
    answers = run(to_onnx(PrBR(C=0.1).fit(X, y)), X=X.astype(np.float32))
    assert set(answers["labels"]) <= {"\\ud800", 'a"', "<b>"}


def test_file_is_written_whole_and_feature_names_are_told(tmp_path):
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(12)])
    model = PrBR(C=0.1).fit(frame, Y)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    proto = to_onnx(model, path)
    assert path.read_bytes() == proto.SerializeToString() and list(tmp_path.iterdir()) == [path]
    told = {entry.key: entry.value for entry in proto.metadata_props}
    assert json.loads(told["feature_names"]) == list(frame.columns)
    with pytest.raises(ValueError, match="outputs"):
        to_onnx(model, path, outputs=["scores", "colours"])
    assert path.read_bytes() == proto.SerializeToString()


@pytest.mark.parametrize(
    "make, settings, sentence",
    [
        (lambda: RidgeClassifier(), {}, "cannot write a RidgeClassifier; expected one of PrML"),
        (lambda: MultilabelCalibrator(PrBR(), method="isotonic", cv=2), {}, "isotonic"),
        (lambda: MultilabelCalibrator(RidgeClassifier(), cv=2), {}, "RidgeClassifier"),
        (lambda: LEML(tol=0.5), {"outputs": ["probabilities"]}, "MultilabelCalibrator adds them"),
        (
            lambda: ThresholdTuner(PrBR(C=0.1), strategy="f_measure", cv=2),
            {"outputs": ["labels"]},
            "f_measure",
        ),
        (lambda: PrBR(kernel=lambda A, B: A @ B.T), {}, "expected 'linear', 'rbf', 'poly'"),
        (lambda: PrBR(), {"outputs": []}, "outputs is empty"),
        (lambda: PrBR(), {"dtype": np.int32}, "float32 or float64"),
        (lambda: make_pipeline(Nystroem(kernel="cosine", n_components=9), PrBR()), {}, "cosine"),
    ],
)
def test_what_cannot_be_written_is_told(make, settings, sentence):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = make().fit(X, Y)
    with pytest.raises(ValueError, match=sentence):
        to_onnx(model, **settings)


def test_scores_of_f_measure_can_be_written():
    model = ThresholdTuner(PrBR(C=0.1), strategy="f_measure", cv=2).fit(X, Y)
    assert set(assert_same_answers(model, X)) == {"scores", "probabilities"}


def test_missing_extra_is_one_line(monkeypatch):
    model = PrBR(C=0.1).fit(X, Y)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'prml\[onnx\]'") as caught:
        to_onnx(model)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def debtags_model():
    data = load_debtags()
    train = data.train_idx
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrBR(C=0.1, tol=0.1).fit(data.X[train], data.Y[train])
    return data, Pipeline([("tfidf", data.vectorizer), ("model", model)])


def test_debtags_features(debtags_model):
    data, model = debtags_model
    rows = data.X[data.test_idx]
    answers = run(to_onnx(model, text=False), X=rows.toarray().astype(np.float32))
    expected = model[-1].decision_function(rows)
    assert np.abs(answers["scores"] - expected).max() <= 1e-5
    assert ((answers["labels"] == model[-1].predict(rows)) | (np.abs(expected) < 1e-5)).all()


def test_debtags_texts(debtags_model):
    data, model = debtags_model
    odd = ["", "!?", "Éditeur de C++ ÜBER 日本", "a a a A", "\x00 text"]
    for texts in ([*data.text[data.test_idx], *odd], [""]):
        texts = np.array(texts, dtype=object)
        answers = run(to_onnx(model), text=texts)
        assert np.abs(answers["scores"] - model.decision_function(texts)).max() <= 1e-5


def test_text_settings_that_onnx_does_not_know(debtags_model):
    data, model = debtags_model
    from sklearn.base import clone

    for change in ({"token_pattern": r"\S+"}, {"strip_accents": "ascii"}, {"analyzer": "char"}):
        vectorizer = clone(data.vectorizer).set_params(**change).fit(data.text[:50])
        with pytest.raises(ValueError, match="text=False"):
            to_onnx(Pipeline([("tfidf", vectorizer), ("model", model[-1])]))


def named(name):
    try:
        return load_dataset(name)
    except Exception as error:
        pytest.skip(f"{name} cannot be had: {error}")


def half(data):
    order = np.random.default_rng(0).permutation(data.Y.shape[0])
    train, test = np.array_split(order, 2)
    dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dense[train], data.Y[train], dense[test]


def test_enron():
    train, labels, test = half(named("enron"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrBR(C=0.01, tol=0.1).fit(train, labels)
    answers = run(to_onnx(model), X=test.astype(np.float32))
    assert np.abs(answers["scores"] - model.decision_function(test)).max() <= 1e-5


def test_yeast_with_rbf_features():
    train, labels, test = half(named("yeast"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(
            StandardScaler(),
            Nystroem(gamma=0.02, n_components=300, random_state=0),
            PrBR(C=0.1, tol=0.1),
        ).fit(train, labels)
    expected = model.decision_function(test.astype(np.float32))
    answers = run(to_onnx(model), X=test.astype(np.float32))
    assert np.abs(answers["scores"] - expected).max() <= 1e-5


def test_yeast_with_an_rbf_kernel_through_landmarks():
    train, labels, test = half(named("yeast"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrBR(C=0.1, tol=0.1, kernel="rbf", gamma=2.0, n_landmarks=300, random_state=0).fit(
            train, labels
        )
    test = test.astype(np.float32)
    answers = run(to_onnx(model), X=test)
    assert np.abs(answers["scores"] - model.decision_function(test.astype(float))).max() <= 1e-5

"""What is here: what BR, ECC and RAkEL owe their users alike."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.baselines.naive_ensembles import correlated_labels

from prml.baselines import ECC, BinaryRelevance, RAkEL
from prml.baselines.linear import Machine

ALL = [BinaryRelevance, ECC, RAkEL]
# LIBLINEAR's hinge solver needs more than its 1000 iterations on some of these small problems.
pytestmark = pytest.mark.filterwarnings("ignore:.*stopped at max_iter:Warning")
every_method = pytest.mark.parametrize("Method", ALL)


@parametrize_with_checks([BinaryRelevance(), ECC(n_chains=3), RAkEL()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(
    [
        BinaryRelevance(loss="squared_hinge"),
        BinaryRelevance(loss="logistic"),
        ECC(),
        ECC(n_chains=3, loss="squared_hinge", sampling="subsample"),
        ECC(n_chains=3, loss="logistic", sampling="all"),
        RAkEL(k=2),
        RAkEL(disjoint=True, k=2, loss="squared_hinge"),
    ]
)
def test_scikit_learn_checks_of_the_variants(estimator, check):
    check(estimator)


@every_method
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])  # processes, threads
def test_result_does_not_depend_on_n_jobs(Method, loss):
    X, Y = correlated_labels(n_samples=150, n_labels=9)
    X, Y = sp.csr_matrix(X), sp.csr_matrix(Y)
    one = Method(loss=loss, random_state=0).fit(X, Y)
    two = Method(loss=loss, random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@every_method
def test_global_random_state_is_left_alone(Method):
    X, Y = correlated_labels()
    before = np.random.get_state()  # noqa: NPY002
    Method().fit(X, Y)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]  # the place in the stream moves with every draw


@every_method
def test_random_state_object_and_repeat(Method):
    X, Y = correlated_labels()
    fits = [Method(random_state=np.random.RandomState(5)).fit(X, Y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*fits)


@every_method
@pytest.mark.parametrize("scores", ["decision", "hard"])
def test_nothing_becomes_dense(Method, scores, monkeypatch):
    X, Y = correlated_labels()
    X, Y = sp.csr_matrix(X), sp.csr_matrix(Y)
    expected = Method(scores=scores, random_state=0).fit(X.toarray(), Y.toarray())

    def refuse(*_, **__):
        raise AssertionError("a sparse matrix was made dense")

    for kind in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    monkeypatch.setattr(sp.csr_matrix, "tolil", refuse)
    model = Method(scores=scores, random_state=0).fit(X, Y)
    predicted, scored = model.predict(X), model.decision_function(X)
    monkeypatch.undo()
    np.testing.assert_allclose(scored, expected.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(predicted, expected.predict(X))


@every_method
def test_input_is_not_modified_and_long_indices_are_read(Method):
    X, Y = correlated_labels()
    X, Y = sp.csr_matrix(X), sp.csr_matrix(Y)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    copies = X.copy(), Y.copy()
    model = Method(random_state=0).fit(X, Y)
    assert X.indices.dtype == np.int64
    assert abs(X - copies[0]).nnz == 0 and abs(Y - copies[1]).nnz == 0
    np.testing.assert_array_equal(
        model.coef_, Method(random_state=0).fit(X.toarray(), Y.toarray()).coef_
    )


@every_method
@pytest.mark.parametrize("scores", ["decision", "hard"])
def test_constant_labels_are_constant_with_one_warning(Method, scores):
    X, Y = correlated_labels()
    Y[:, 1], Y[:, 3] = 0, 1
    with pytest.warns(UserWarning) as caught:
        model = Method(scores=scores, loss="squared_hinge", random_state=0).fit(X, Y)
    assert [str(w.message) for w in caught] == [
        "2 of 5 labels have a single class in training (1, 3); their predictors are constant."
    ]
    assert model.constant_labels_.tolist() == [1, 3]
    predicted = model.predict(X * 100)
    assert (predicted[:, 1] == 0).all() and (predicted[:, 3] == 1).all()
    values = model.decision_function(X * 100)
    assert np.ptp(values[:, 1]) == 0 and values[0, 1] == (0 if scores == "hard" else -1)
    assert np.ptp(values[:, 3]) == 0 and values[0, 3] == 1


@every_method
def test_constant_labels_of_the_logistic_loss_score_log_odds(Method):
    X, Y = correlated_labels()
    Y[:, 1], Y[:, 3] = 0, 1
    with pytest.warns(UserWarning, match="2 of 5 labels"):
        values = Method(loss="logistic", random_state=0).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(values[:, [1, 3]] / np.log(1001), [[-1, 1]] * len(X))


@every_method
def test_a_label_absent_from_training_leaves_the_others_as_they_were(Method):
    if Method is not BinaryRelevance:
        pytest.skip("its random draws depend on the number of labels")
    X, Y = correlated_labels()
    without = Method(random_state=0).fit(X, Y)
    with pytest.warns(UserWarning, match="1 of 6 labels"):
        model = Method(random_state=0).fit(X, np.hstack([Y, np.zeros((len(Y), 1))]))
    np.testing.assert_array_equal(model.coef_[:5], without.coef_)


@every_method
def test_all_labels_constant(Method):
    X, Y = correlated_labels(n_samples=10)
    with pytest.warns(UserWarning, match="5 of 5 labels"):
        model = Method().fit(X, np.zeros_like(Y))
    assert (model.predict(X) == 0).all() and model.n_iter_ == 0


@every_method
def test_one_label_and_two(Method):
    X, Y = correlated_labels()
    for n_labels in (1, 2):  # fewer than RAkEL's k
        model = Method(random_state=0).fit(X, Y[:, :n_labels])
        assert model.predict(X).shape == model.decision_function(X).shape == (len(X), n_labels)
        assert (model.predict(X) == Y[:, :n_labels]).mean() > 0.7


@every_method
def test_empty_rows(Method):
    X, Y = correlated_labels()
    X[3], Y[7] = 0, 0
    dense = Method(random_state=0).fit(X, Y)
    sparse = Method(random_state=0).fit(sp.csr_matrix(X), sp.csr_matrix(Y))
    empty = np.zeros((1, X.shape[1]))
    np.testing.assert_array_equal(
        sparse.decision_function(sp.csr_matrix(empty)), dense.decision_function(empty)
    )
    assert np.isfinite(dense.decision_function(empty)).all()


@every_method
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_features_all_zero(Method, form):
    _, Y = correlated_labels()
    X = form(np.zeros(Y.shape))
    model = Method(random_state=0, loss="squared_hinge").fit(X, Y)
    assert np.ptp(model.decision_function(X), axis=0).max() < 1e-12


@every_method
def test_missing_label_is_a_sentence(Method):
    X, Y = correlated_labels(n_samples=20)
    Y = Y.astype(float)
    Y[2, 1] = np.nan
    with pytest.raises(ValueError, match=rf"row 2, label 1; {Method.__name__} needs every label"):
        Method().fit(X, Y)


@every_method
@pytest.mark.parametrize(
    "name, value, sentence",
    [
        ("loss", "hinges", "loss is 'hinges'; expected one of hinge, squared_hinge, logistic."),
        ("scores", "soft", "scores is 'soft'; expected one of decision, hard."),
        ("C", 0, "C is 0; expected a positive number."),
        ("tol", -1, "tol is -1; expected a positive number."),
        ("max_iter", 0, "max_iter is 0; expected a positive number."),
    ],
)
def test_bad_parameters(Method, name, value, sentence):
    X, Y = correlated_labels(n_samples=20)
    with pytest.raises(ValueError) as caught:
        Method(**{name: value}).fit(X, Y)
    assert str(caught.value) == sentence


@every_method
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_one_convergence_warning_for_all_machines(Method, n_jobs):
    X, Y = correlated_labels()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = Method(max_iter=1, tol=1e-9, n_jobs=n_jobs, random_state=0).fit(X, Y)
    assert [w.category for w in caught] == [ConvergenceWarning]
    assert "stopped at max_iter=1" in str(caught[0].message) and not model.converged_


@every_method
def test_callbacks_history_and_early_end(Method):
    X, Y = correlated_labels()
    seen = []
    model = Method(loss="squared_hinge", random_state=0, callbacks=seen.append).fit(X, Y)
    assert seen == model.history_ and model.converged_ and model.stopped_by_ is None
    assert [record["iteration"] for record in seen] == list(range(1, len(seen) + 1))

    short = Method(random_state=0, callbacks=lambda record: record["iteration"] == 2).fit(X, Y)
    assert short.stopped_by_ == "callback" and not short.converged_ and len(short.history_) == 2
    assert short.predict(X).shape == Y.shape


@every_method
@pytest.mark.parametrize("loss, n_jobs", [("hinge", None), ("hinge", 2), ("squared_hinge", 2)])
def test_interrupt_keeps_what_was_fitted(Method, loss, n_jobs):
    if loss == "hinge" and n_jobs == 2 and Method is not ECC:
        pytest.skip("ending processes takes seconds; one method stands for all")
    X, Y = correlated_labels()

    def press_ctrl_c(record):
        if record["iteration"] == 2:
            raise KeyboardInterrupt

    whole = Method(random_state=0, loss=loss).fit(X, Y)
    with pytest.warns(RuntimeWarning, match="best model so far"):
        model = Method(random_state=0, loss=loss, n_jobs=n_jobs, callbacks=press_ctrl_c).fit(X, Y)
    assert model.stopped_by_ == "interrupt"
    n_kept = 2 if Method is not RAkEL else len(model.coef_)
    np.testing.assert_array_equal(model.coef_[:n_kept], whole.coef_[:n_kept])
    assert model.predict(X).shape == Y.shape


@every_method
def test_interrupt_before_anything_was_fitted_is_an_interrupt(Method, monkeypatch):
    X, Y = correlated_labels()

    def press_ctrl_c(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("prml.baselines.linear.LinearSVC.fit", press_ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        Method().fit(X, Y)


@every_method
def test_time_limit(Method):
    X, Y = correlated_labels()
    with pytest.warns(ConvergenceWarning, match="max_time=1e-09 s ended the fit after"):
        model = Method(random_state=0, max_time=1e-9).fit(X, Y)
    assert model.stopped_by_ == "time limit" and len(model.history_) == 1
    assert model.predict(X).shape == Y.shape


def test_labels_not_reached_score_by_frequency():
    X, Y = correlated_labels()
    model = BinaryRelevance(random_state=0, callbacks=lambda record: True).fit(X, Y)
    np.testing.assert_allclose(model.intercept_[1:], 2 * Y.mean(axis=0)[1:] - 1)
    assert (model.coef_[1:] == 0).all() and (model.coef_[0] != 0).any()


@every_method
def test_data_frame_names(Method):
    pd = pytest.importorskip("pandas")
    X, Y = correlated_labels()
    names = ["red", "green", "blue", "grey", "gold"]
    model = Method(random_state=0).fit(X, pd.DataFrame(Y, columns=names))
    assert model.label_names_.tolist() == names
    top = model.predict_top_k(X, 2)
    assert top.shape == (len(X), 2) and set(top.ravel()) <= set(names)


def test_solver_is_chosen_by_loss_shape_and_C():
    machine = Machine("squared_hinge", 1.0, True, 1e-4, 1000, 0)
    assert [machine.solves_dual(n, 10) for n in (5, 39, 40)] == [True, True, False]
    assert [machine._replace(C=2.0).solves_dual(n, 10) for n in (5, 39)] == [True, False]
    assert machine._replace(loss="hinge").solves_dual(1000, 1)
    assert not machine._replace(loss="logistic").solves_dual(1, 1000)

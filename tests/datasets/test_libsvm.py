"""What is here: the LIBSVM and XMC readers against scikit-learn, and what they refuse."""

import gzip
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from prml.datasets import dump_libsvm, load_libsvm, load_xmc

NUMBERS = st.one_of(
    st.just(0.0), st.just(math.nan), st.floats(allow_nan=False, allow_infinity=False)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("libsvm")


@st.composite
def problems(draw, numbers=NUMBERS):
    n, d, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    X = np.array(draw(st.lists(numbers, min_size=n * d, max_size=n * d))).reshape(n, d)
    Y = draw(st.lists(st.sampled_from([0, 1]), min_size=n * n_labels, max_size=n * n_labels))
    return X, np.array(Y).reshape(n, n_labels)


@given(problems(), st.booleans(), st.booleans(), st.sampled_from(["", ".gz", ".xz"]))
@settings(max_examples=150, deadline=None)
def test_round_trip(folder, problem, sparse, zero_based, suffix):
    X, Y = problem
    path = folder / f"round.svm{suffix}"
    dump_libsvm(path, sp.csr_matrix(X) if sparse else X, Y, zero_based=zero_based)
    held = load_libsvm(path, n_features=X.shape[1], n_labels=Y.shape[1], zero_based=zero_based)
    np.testing.assert_array_equal(held.X.toarray(), X)
    np.testing.assert_array_equal(held.Y.toarray(), Y)
    assert held.X.has_sorted_indices and held.Y.has_sorted_indices


@given(problems(st.one_of(st.just(0.0), st.floats(-1e6, 1e6))), st.booleans())
@settings(max_examples=60, deadline=None)
def test_agrees_with_scikit_learn(folder, problem, zero_based):
    X, Y = problem
    Y[:, 0] = 1  # scikit-learn does not read rows without labels
    path = folder / "theirs.svm"
    dump_svmlight_file(X, Y, str(path), multilabel=True, zero_based=zero_based, comment="hello")
    theirs, labels = load_svmlight_file(
        str(path), n_features=X.shape[1], multilabel=True, zero_based=zero_based
    )
    held = load_libsvm(path, n_features=X.shape[1], zero_based=zero_based)
    np.testing.assert_array_equal(held.X.toarray(), theirs.toarray())
    assert [tuple(row.indices) for row in held.Y] == [tuple(map(int, row)) for row in labels]


def test_rows_without_labels_or_features(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("# a comment\n1 0:2\n 1:3\n0:4 2:5\n\n0,2\n")
    held = load_libsvm(path)
    assert held.X.toarray().tolist() == [[2, 0, 0], [0, 3, 0], [4, 0, 5], [0, 0, 0]]
    assert held.Y.toarray().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 1]]


def test_base_is_found_out(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("0 1:2 3:1\n")
    assert load_libsvm(path).X.toarray().tolist() == [[2, 0, 1]]
    assert load_libsvm(path, zero_based=True).X.toarray().tolist() == [[0, 2, 0, 1]]
    assert load_libsvm(path, n_features=5).X.toarray().tolist() == [[2, 0, 1, 0, 0]]


def test_float32_round_trip(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    dump_libsvm(tmp_path / "a.svm", X, np.eye(20, 2))
    held = load_libsvm(tmp_path / "a.svm", dtype=np.float32)
    assert held.X.dtype == np.float32
    np.testing.assert_array_equal(held.X.toarray(), X)


MALFORMED = [
    ("empty", "", 1, "no examples"),
    ("label is a word", "1 0:1\nx 0:1\n", 2, "found 'x'; expected label numbers"),
    ("label is negative", "-1 0:1\n", 1, "found '-1'; expected label numbers"),
    ("label is twice", "0 0:1\n1,0,1 0:1\n", 2, "label 1 occurs twice"),
    ("comma at the end", "0 1:1\n1, 0:1\n", 2, "found '1,'"),
    ("value missing", "0 0:\n", 1, "found '0:'; expected index:value"),
    ("value is a word", "0 0:1\n0 0:1 1:x\n", 2, "found '1:x'; expected index:value"),
    ("two colons", "0 1:2:3 4\n", 1, "found '1:2:3'; expected index:value"),
    ("no colon", "0 1:2 4\n", 1, "found '4'; expected index:value"),
    ("query id", "0 qid:1 1:2\n", 1, "found 'qid:1'"),
    ("feature is twice", "0 0:1\n0 3:1 1:2 3:5\n", 2, "feature 3 occurs twice"),
    ("huge index", "0 0:1\n0 99999999999:1\n", 2, "feature index '99999999999' is too large"),
    ("huge label", "99999999999 0:1\n", 1, "label '99999999999' is too large"),
    ("underscore", "0 0:1_0\n", 1, "found '0:1_0'"),
    ("cut off", "0 0:1 1:2.5e", 1, "found '1:2.5e'"),
]


@pytest.mark.parametrize(
    "text, line, sentence", [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_malformed(tmp_path, text, line, sentence):
    path = tmp_path / "bad.svm"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        load_libsvm(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert sentence in str(caught.value)


def test_out_of_range(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("0 0:1\n3 5:1\n")
    with pytest.raises(ValueError, match=r"line 2: feature 5 .* expected less than 5"):
        load_libsvm(path, n_features=5, zero_based=True)
    with pytest.raises(ValueError, match="line 2: label 3 is out of range; expected less than 3"):
        load_libsvm(path, n_labels=3)
    with pytest.raises(ValueError, match="line 1: feature index 0 occurs"):
        load_libsvm(path, zero_based=False)


def test_binary_junk_and_truncated_gzip(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match=r"bad\.svm, line 1: "):
        load_libsvm(path)
    path.write_bytes(gzip.compress(b"0 0:1\n" * 10_000)[:30])
    with pytest.raises(ValueError, match=r"bad\.svm, line 1: the file is damaged"):
        load_libsvm(path)


def test_xmc(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("3 4 3\n0,2 0:1.5 3:2\n 1:1\n\n\n")
    held = load_xmc(path)
    assert held.X.toarray().tolist() == [[1.5, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 0]]
    assert held.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    "text, line, sentence",
    [
        ("", 1, "expected three numbers"),
        ("0,2 0:1\n", 1, "expected three numbers"),
        ("2 4 " + 30 * "9" + "\n", 1, "a number above"),
        ("2 4 3\n0 0:1\n", 2, "ends after 1 examples; the first line says 2"),
        ("1 4 3\n0 0:1\n\n1 0:1\n", 4, "more examples than the 1"),
        ("1 4 3\n0 4:1\n", 2, "feature 4 (counted from 0) is out of range"),
        ("2 4 3\n0 0:1\n3 0:1\n", 3, "label 3 is out of range"),
    ],
)
def test_malformed_xmc(tmp_path, text, line, sentence):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        load_xmc(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert sentence in str(caught.value)


def test_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("prml.datasets.text_input._BLOCK", 64)
    X = sp.random(300, 9, 0.3, format="csr", random_state=0)
    Y = sp.random(300, 5, 0.3, format="csr", random_state=1).astype(bool).astype(float)
    dump_libsvm(tmp_path / "a.svm", X, Y)
    held = load_libsvm(tmp_path / "a.svm", n_features=9, zero_based=True)
    assert abs(held.X - X).max() == 0 and abs(held.Y - Y).max() == 0
    lines = (tmp_path / "a.svm").read_text().splitlines()
    lines[250] += " 7:x"
    (tmp_path / "a.svm").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="line 251: found '7:x'"):
        load_libsvm(tmp_path / "a.svm")


def test_writer_refuses_what_it_cannot_write(tmp_path):
    with pytest.raises(ValueError, match="missing"):
        dump_libsvm(tmp_path / "a.svm", [[1.0]], [[np.nan]])
    with pytest.raises(ValueError, match="X has 2 rows and Y has 1"):
        dump_libsvm(tmp_path / "a.svm", [[1.0], [2.0]], [[1]])
    with pytest.raises(ValueError, match="Y has 1 dimensions"):
        dump_libsvm(tmp_path / "a.svm", [[1.0]], [1])
    with pytest.raises(ValueError, match="infinity"):
        dump_libsvm(tmp_path / "a.svm", [[np.inf]], [[1]])
    assert list(tmp_path.iterdir()) == []

"""What is here: load_arff and dump_arff against liac-arff, and the ways to name the labels."""

import bz2
import gzip
import io
import math

import arff as liac
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from prml.datasets import arff_rows, dump_arff, load_arff

# Control characters are left out: liac-arff does not quote all of them when it writes.
WORDS = st.text(st.sampled_from("abzé019.-_ ,'\"\\%{}?;@#"), min_size=1, max_size=6)
# liac-arff does not undo the escapes of attribute names, so names have none.
NAMES = st.text(st.sampled_from("abzé019._- ,?;@#"), min_size=1, max_size=6).map(str.strip)
NUMBERS = st.one_of(
    st.integers(-(10**17), 10**17).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 1.0]),
)


@st.composite
def tables(draw):
    """A table as liac-arff holds it: attributes (numeric or nominal) and rows with None."""
    names = draw(
        st.lists(NAMES.filter(lambda n: n and "'" not in n), min_size=1, max_size=5, unique=True)
    )
    attributes = []
    for name in names:
        if draw(st.booleans()):
            attributes.append((name, draw(st.sampled_from(["NUMERIC", "REAL"]))))
        else:
            # A bare ? among the categories would be ambiguous in liac-arff's output.
            # So would braces: it writes them bare.
            words = WORDS.filter(lambda w: w.strip() == w and w != "?" and not set(w) & {"{", "}"})
            plain = st.sampled_from(["0", "1", "2", "red", "green"])
            categories = st.lists(st.one_of(plain, words), min_size=1, max_size=4, unique=True)
            attributes.append((name, draw(categories)))
    cells = [
        st.one_of(st.none(), NUMBERS if isinstance(kind, str) else st.sampled_from(sorted(kind)))
        for _, kind in attributes
    ]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))
    return {"relation": "table", "attributes": attributes, "data": [list(row) for row in rows]}


def liac_codes(text):
    """The table as numbers: liac-arff's own reading, nominals as the index of the category."""
    held = liac.loads(text, encode_nominal=True)
    return np.array(
        [[math.nan if v is None else float(v) for v in row] for row in held["data"]], dtype=float
    ).reshape(-1, len(held["attributes"]))


def write(folder, text, name="data.arff"):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("arff")


@given(tables())
@settings(max_examples=150, deadline=None)
def test_dense_agrees_with_liac_arff(folder, table):
    text = liac.dumps(table)
    held = load_arff(write(folder, text), labels=0)
    np.testing.assert_array_equal(held.X, liac_codes(text))
    assert held.feature_names.tolist() == [name for name, _ in table["attributes"]]
    for name, kind in table["attributes"]:
        assert held.categories.get(name) == (None if isinstance(kind, str) else kind)


@given(tables())
@settings(max_examples=150, deadline=None)
def test_sparse_agrees_with_liac_arff(folder, table):
    # liac-arff writes a list of dicts as sparse rows; what is zero or first is left out of them.
    first = [0.0 if isinstance(kind, str) else kind[0] for _, kind in table["attributes"]]
    table["data"] = [
        {j: value for j, value in enumerate(row) if value != first[j]} for row in table["data"]
    ]
    text = liac.dumps(table)
    held = load_arff(write(folder, text), labels=0)
    assert sp.issparse(held.X) and held.X.has_sorted_indices
    np.testing.assert_array_equal(held.X.toarray(), liac_codes(text))


@given(tables(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_whole_blocks_equal_row_by_row(folder, table, sparse):
    """The fast reading of a block is either refused or the same as the slow one."""
    if sparse:
        table["data"] = [dict(enumerate(row)) for row in table["data"]]
    path = write(folder, liac.dumps(table))
    fast = load_arff(path, labels=0)
    blocks = arff_rows.dense_block, arff_rows.sparse_block
    try:
        arff_rows.dense_block = arff_rows.sparse_block = lambda rows, columns: None
        slow = load_arff(path, labels=0)
    finally:
        arff_rows.dense_block, arff_rows.sparse_block = blocks
    as_array = (lambda X: X.toarray()) if sparse else np.asarray
    np.testing.assert_array_equal(as_array(fast.X), as_array(slow.X))


@st.composite
def problems(draw):
    n, d, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    cell = st.one_of(st.just(0.0), st.just(math.nan), NUMBERS)
    X = np.array(draw(st.lists(cell, min_size=n * d, max_size=n * d))).reshape(n, d)
    label = st.sampled_from([0.0, 1.0, math.nan] if draw(st.booleans()) else [0.0, 1.0])
    Y = np.array(draw(st.lists(label, min_size=n * n_labels, max_size=n * n_labels)))
    names = draw(st.lists(WORDS, min_size=d + n_labels, max_size=d + n_labels, unique=True))
    return X, Y.reshape(n, n_labels), names[:d], names[d:]


@given(problems(), st.booleans(), st.sampled_from(["", ".gz", ".bz2", ".xz"]))
@settings(max_examples=100, deadline=None)
def test_round_trip(folder, problem, sparse, suffix):
    X, Y, feature_names, label_names = problem
    path = folder / f"round.arff{suffix}"
    given_X = sp.csr_matrix(X) if sparse else X
    dump_arff(path, given_X, Y, feature_names=feature_names, label_names=label_names)
    held = load_arff(path)
    assert sp.issparse(held.X) == sparse
    np.testing.assert_array_equal(held.X.toarray() if sparse else held.X, X)
    assert sp.issparse(held.Y) == (not np.isnan(Y).any())
    np.testing.assert_array_equal(held.Y.toarray() if sp.issparse(held.Y) else held.Y, Y)
    assert held.feature_names.tolist() == feature_names
    assert held.label_names.tolist() == label_names
    assert sorted(p.name for p in folder.iterdir() if p.suffix == ".part") == []


def test_float32_round_trip(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    dump_arff(tmp_path / "a.arff", X, np.eye(20, 2))
    held = load_arff(tmp_path / "a.arff", dtype=np.float32)
    assert held.X.dtype == np.float32
    np.testing.assert_array_equal(held.X, X)


TINY = """% a comment
@RELATION 'tiny: -C 2'

@Attribute first {0,1}
@attribute "second label" {FALSE,TRUE}
@ATTRIBUTE size REAL
@attribute\tkind {a, 'b c', "d"}  % why not
@data
% another
1,TRUE,1.5,'b c'

0, FALSE , ?, d
1,?,-2e3,a
"""


def test_meka_counts_the_first_attributes(tmp_path):
    held = load_arff(write(tmp_path, TINY))
    assert held.label_names.tolist() == ["first", "second label"]
    np.testing.assert_array_equal(held.Y, [[1, 1], [0, 0], [1, np.nan]])
    np.testing.assert_array_equal(held.X, [[1.5, 1], [np.nan, 2], [-2000, 0]])


@pytest.mark.parametrize("pack, suffix", [(gzip.compress, ".gz"), (bz2.compress, "")])
def test_compression_is_known_by_content(tmp_path, pack, suffix):
    path = tmp_path / f"data.arff{suffix}"
    path.write_bytes(pack(TINY.encode()))
    assert load_arff(path).X.shape == (3, 2)


def test_windows_line_ends_and_latin1(tmp_path):
    text = TINY.replace("\n", "\r\n").replace("kind", "genreé")
    path = tmp_path / "latin.arff"
    path.write_bytes(text.encode("latin-1"))
    held = load_arff(path)
    assert held.feature_names.tolist() == ["size", "genreé"]
    assert held.X.shape == (3, 2)


LABELS_XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="c"><label name="a"></label></label>
</labels>"""
ABC = "@relation abc\n@attribute a {0,1}\n@attribute b numeric\n@attribute c {0,1}\n@data\n1,7,0\n"


def test_mulan_xml_given_or_beside(tmp_path):
    path = write(tmp_path, ABC)
    xml = write(tmp_path, LABELS_XML, "data.xml")
    for held in (load_arff(path), load_arff(path, xml), load_arff(path, str(xml))):
        assert held.label_names.tolist() == ["a", "c"]  # the order of the ARFF file
        assert held.Y.toarray().tolist() == [[1, 0]]
        assert held.X.tolist() == [[7]]


def test_labels_by_name_keep_the_order_given(tmp_path):
    held = load_arff(write(tmp_path, ABC), ["c", "a"])
    assert held.label_names.tolist() == ["c", "a"]
    assert held.Y.toarray().tolist() == [[0, 1]]


def test_labels_by_count(tmp_path):
    path = write(tmp_path, ABC)
    assert load_arff(path, 1).label_names.tolist() == ["a"]
    assert load_arff(path, -1).label_names.tolist() == ["c"]
    assert load_arff(path, 0).Y.shape == (1, 0)


def test_first_category_present_is_inverted(tmp_path):
    header = "@relation r\n@attribute x numeric\n@attribute a {1,0}\n@attribute b {0,1}\n@data\n"
    dense = load_arff(write(tmp_path, header + "5,1,1\n0,0,0\n0,1,0\n"), -2)
    sparse = load_arff(write(tmp_path, header + "{0 5, 2 1}\n{1 0}\n{}\n"), -2)
    for held in (dense, sparse):
        assert held.Y.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]


def test_identifiers_can_be_ignored(tmp_path):
    text = "@relation r\n@attribute id string\n@attribute x numeric\n@attribute a {0,1}\n@data\n"
    path = write(tmp_path, text + "'P 1',3,1\nP2,4,0\n")
    held = load_arff(path, -1, ignore=["id"])
    assert held.X.tolist() == [[3], [4]] and held.feature_names.tolist() == ["x"]
    with pytest.raises(ValueError, match=r"line 2: attribute 'id' is a string"):
        load_arff(path, -1)


def test_a_quoted_question_mark_is_a_category(tmp_path):
    head = "@relation r\n@attribute x {'?',a}\n@attribute y {0,1}\n@data\n"
    for rows in ("a,1\n?,0\n", "'a',1\n?,0\n", "{0 a,1 1}\n{0 ?}\n"):
        X = load_arff(write(tmp_path, head + rows), -1).X
        np.testing.assert_array_equal(X.toarray() if sp.issparse(X) else X, [[1], [np.nan]])
    held = load_arff(write(tmp_path, head + "'?',1\na,?\n"), -1)
    assert held.X.tolist() == [[0], [1]] and np.isnan(held.Y[1, 0])


def test_sparse_rows_may_be_unsorted(tmp_path):
    head = "@relation r\n" + "".join(f"@attribute x{j} numeric\n" for j in range(4)) + "@data\n"
    held = load_arff(write(tmp_path, head + "{3 1, 1 2}\n{ }\n"), 0)
    assert held.X.toarray().tolist() == [[0, 2, 0, 1], [0, 0, 0, 0]]
    assert held.X.has_sorted_indices


def test_many_blocks(tmp_path, monkeypatch):
    """Rows and line numbers stay right across blocks, fast and slow ones mixed."""
    monkeypatch.setattr("prml.datasets.text_input._BLOCK", 64)
    rng = np.random.default_rng(0)
    X = sp.random(200, 7, 0.3, format="csr", random_state=0)
    Y = sp.csr_matrix((rng.random((200, 3)) < 0.3).astype(float))
    path = tmp_path / "b.arff"
    dump_arff(path, X, Y)
    lines = path.read_text().splitlines()
    at = lines.index("@data") + 1
    lines[at + 50] = lines[at + 50].replace("{", "{ ").replace(" 1", " '1'")  # quoted: slow block
    lines.insert(at + 20, "% comment")
    path.write_text("\n".join(lines))
    held = load_arff(path)
    assert abs(held.X - X).max() == 0 and abs(held.Y - Y).max() == 0
    lines[at + 150] = "{0 x}"
    path.write_text("\n".join(lines))
    with pytest.raises(ValueError, match=rf"b\.arff, line {at + 151}: attribute 'x0'"):
        load_arff(path)


def test_writer_refuses_bad_names(tmp_path):
    with pytest.raises(ValueError, match="feature_names has 1 names; expected 2"):
        dump_arff(tmp_path / "a.arff", [[1, 2]], [[1]], feature_names=["a"])
    with pytest.raises(ValueError, match="the name 'a' is given 2 times"):
        dump_arff(tmp_path / "a.arff", [[1]], [[1]], feature_names=["a"], label_names=["a"])
    assert list(tmp_path.iterdir()) == []


def test_writer_takes_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"size": [1.0, 2.0]})
    Y = pandas.DataFrame({"round": [1, 0], "sweet": [0, 1]})
    dump_arff(tmp_path / "a.arff", X, Y)
    held = load_arff(tmp_path / "a.arff")
    assert held.feature_names.tolist() == ["size"]
    assert held.label_names.tolist() == ["round", "sweet"]


def test_liac_arff_reads_what_we_write(tmp_path):
    X = sp.random(30, 5, 0.4, format="csr", random_state=1)
    Y = np.eye(30, 4)
    dump_arff(tmp_path / "a.arff", X, Y)
    held = liac.load(io.StringIO((tmp_path / "a.arff").read_text()), encode_nominal=True)
    np.testing.assert_array_equal(np.array(held["data"], float), np.hstack([X.toarray(), Y]))

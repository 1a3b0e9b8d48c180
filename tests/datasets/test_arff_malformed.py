"""What is here: every kind of damage to an ARFF file is a ValueError with file and line."""

import gzip

import pytest

from prml.datasets import load_arff

HEADER = """@relation r
@attribute size numeric
@attribute colour {red,green}
@attribute a {0,1}
@data
"""
# (name, text, line, part of the sentence)
MALFORMED = [
    ("too many values", HEADER + "1,red,0\n1,red,0,1\n", 7, "4 values; expected 3"),
    ("too few values", HEADER + "1,red,0\n1,re", 7, "2 values; expected 3"),
    ("truncated number", HEADER + "1,red,0\n1e,red,0", 7, "'size' has the value '1e'"),
    ("unknown nominal", HEADER + "1,blue,0\n", 6, "'blue'; expected one of 'red', 'green'"),
    ("not a number", HEADER + "% x\n\none,red,0\n", 8, "'one'; expected a number"),
    ("underscore", HEADER + "1_0,red,0\n", 6, "'1_0'; expected a number"),
    ("label out of range", HEADER + "1,red,2\n", 6, "'a' has the value '2'"),
    ("empty value", HEADER + "1,,0\n", 6, "value 2 is empty"),
    ("open quote", HEADER + "1,'red,0\n", 6, "cannot read a value"),
    ("index out of range", HEADER + "{0 1}\n{3 1}\n", 7, "index 3 is out of range"),
    ("huge index", HEADER + "{99999999999999999999 1}\n", 6, "is out of range"),
    ("index twice", HEADER + "{0 1,0 2}\n", 6, "index 0 occurs twice"),
    ("sparse, not closed", HEADER + "{0 1}\n{0 1, 1 gr", 7, "not closed"),
    ("sparse, no value", HEADER + "{0 1, 1}\n", 6, "expected index and value"),
    ("sparse, trailing comma", HEADER + "{0 1,}\n", 6, "expected index and value"),
    ("sparse, three words", HEADER + "{0 1 2, 1 red}\n", 6, "expected index and value"),
    ("sparse, unknown nominal", HEADER + "{1 blue}\n", 6, "'blue'; expected one of"),
    ("sparse, negative index", HEADER + "{-1 1}\n", 6, "expected index and value"),
    ("dense then sparse", HEADER + "1,red,0\n{0 1}\n", 7, "expected a dense row"),
    ("sparse then dense", HEADER + "{0 1}\n1,red,0\n", 7, "expected a sparse row"),
    ("empty", "", 1, "empty"),
    ("only comments", "% nothing\n", 1, "ends before @data"),
    ("no data line", "@relation r\n@attribute a {0,1}\n", 2, "ends before @data"),
    ("no rows", HEADER + "\n% none\n", 7, "without a row"),
    ("no attributes", "@relation r\n@data\n1\n", 2, "before any @attribute"),
    ("unknown type", "@relation r\n@attribute a colour\n@data\n", 2, "has type 'colour'"),
    ("no type", "@relation r\n@attribute a\n@data\n", 2, "has type ''"),
    ("open categories", "@relation r\n@attribute a {0,1\n@data\n", 2, "closed by }"),
    ("category twice", "@relation r\n@attribute a {0,0}\n@data\n", 2, "a category twice"),
    ("name twice", HEADER.replace("colour", "size"), 3, "already declared in line 2"),
    ("junk in header", "@relation r\nattribute a {0,1}\n", 2, "expected @relation"),
    ("html", "<html><body>404</body></html>\n", 1, "expected @relation"),
]


@pytest.mark.parametrize(
    "text, line, sentence", [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED]
)
def test_malformed(tmp_path, text, line, sentence):
    path = tmp_path / "bad.arff"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        load_arff(path, -1)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert sentence in str(caught.value)


@pytest.mark.parametrize("head", [b"", HEADER.encode()])
def test_binary_junk(tmp_path, head):
    path = tmp_path / "bad.arff"
    path.write_bytes(head + bytes(range(256)) * 20)
    with pytest.raises(ValueError, match=r"bad\.arff, line \d+: "):
        load_arff(path, -1)


def test_truncated_gzip(tmp_path):
    whole = gzip.compress((HEADER + "1,red,0\n" * 50_000).encode())
    for length in (len(whole) // 2, 20):
        path = tmp_path / "bad.arff.gz"
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"bad\.arff\.gz, line \d+: the file is damaged"):
            load_arff(path, -1)


def test_labels_that_are_not_there(tmp_path):
    path = tmp_path / "data.arff"
    path.write_text(HEADER + "1,red,0\n")
    with pytest.raises(ValueError, match="does not say which attributes are labels"):
        load_arff(path)
    with pytest.raises(ValueError, match="has no attribute 'b', a label named in labels="):
        load_arff(path, ["a", "b"])
    with pytest.raises(ValueError, match="has 3 attributes; 4 of them cannot be labels"):
        load_arff(path, -4)
    with pytest.raises(ValueError, match="line 3: label 'colour' is declared as nominal"):
        load_arff(path, -2)
    with pytest.raises(ValueError, match="labels is 'a'; expected a number"):
        load_arff(path, "a")
    (tmp_path / "data.xml").write_text("<labels><label name='a'></labels>")
    with pytest.raises(ValueError, match=r"data\.xml, line 1: this is not XML"):
        load_arff(path)
    (tmp_path / "data.xml").write_text("<labels></labels>")
    with pytest.raises(ValueError, match=r"data\.xml holds no <label"):
        load_arff(path)


def test_numeric_label_must_be_zero_or_one(tmp_path):
    path = tmp_path / "data.arff"
    path.write_text("@relation r\n@attribute x numeric\n@attribute a numeric\n@data\n1,1\n1,3\n")
    with pytest.raises(
        ValueError, match="line 6: attribute 'a' has the value '3'; expected 0 or 1"
    ):
        load_arff(path, -1)

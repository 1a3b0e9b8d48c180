"""What is here: damaged files give a result or a ValueError with file and line, nothing else."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prml.datasets import load_arff, load_libsvm, load_xmc

ARFF = b"""@relation 'r: -C -1'
@attribute size numeric
@attribute 'a colour' {red,'light green'}
@attribute a {0,1}
@data
"""
FILES = {
    "dense.arff": (load_arff, ARFF + b"1,red,0\n-2.5e3,'light green',1\n?,red,0\n"),
    "sparse.arff": (load_arff, ARFF + b"{0 1,1 'light green'}\n{}\n{2 1}\n"),
    "numbers.arff": (load_arff, ARFF.replace(b"{red,'light green'}", b"{0,1,2}") + b"1,2,0\n3,1,1"),
    "a.svm": (load_libsvm, b"0,2 0:1.5 3:2\n 1:1\n1 2:-1e5\n"),
    "a.txt": (load_xmc, b"2 4 3\n0,2 0:1.5 3:2\n 1:1\n"),
}
PIECES = st.one_of(
    st.binary(max_size=3),
    st.sampled_from(
        [b"{", b"}", b",", b":", b"'", b'"', b"\\", b"?", b"%", b"\n", b" ", b"9" * 30]
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_damage(folder, name, data):
    load, whole = FILES[name]
    damaged = whole
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(damaged)))
        stop = data.draw(st.integers(start, min(start + 4, len(damaged))))
        damaged = damaged[:start] + data.draw(PIECES) + damaged[stop:]
    path = folder / name
    path.write_bytes(damaged)
    try:
        held = load(path)
    except ValueError as error:
        message = str(error)
        assert re.match(re.escape(str(path)) + r"(, line \d+: | does not say| has )", message), (
            message
        )
    else:
        assert held.X.shape[0] == held.Y.shape[0] > 0

"""What is here: every reader of files as a function of bytes, with seeds to start from.

`run(name, content, folder)` ends without an error when the reader gave data or one clear sentence;
whatever else a reader does is let through and counts as found. Readers behind a checksum have a
second target that is handed content whose checksums are right, as an attacker would make it.
"""

import bz2
import functools
import gzip
import hashlib
import io
import json
import lzma
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import scipy.sparse as sp

from prml import PrML, load_model, save_model
from prml.baselines import BinaryRelevance
from prml.bench.results_file import ResultsFile
from prml.cli.csv_rows import open_csv
from prml.cli.formats import label_choice
from prml.cli.models import read_parameters
from prml.cli.tables import DataOptions, read_table
from prml.datasets import load_arff, load_debtags, load_libsvm, load_xmc
from prml.datasets.archive import read_members, unpickle_arrays
from prml.datasets.arff_columns import read_mulan_xml
from prml.datasets.store import Parts, read_npz, write_npz
from prml.persistence import read_header
from prml.sparse_check import check_sparse_indices

SPLIT = b"\x00|\x00"  # between the members of a forged archive
LONGEST_SENTENCE = 1000

ARFF = b"""@relation 'r: -C -1'
@attribute size numeric
@attribute 'a colour' {red,'light green'}
@attribute a {0,1}
@data
"""


def _check(held: object) -> None:
    """What a reader returns must fit together: compiled code trusts indices and sizes."""
    X, Y = held.X, getattr(held, "Y", None)
    for matrix in (X, Y):
        if sp.issparse(matrix):
            check_sparse_indices(matrix, "it")
    if Y is not None and not isinstance(X, list):
        assert X.shape[0] == Y.shape[0], "X and Y differ in rows"


def _arff(path: Path) -> None:
    _check(load_arff(path))


def _arff_all_labels(path: Path) -> None:
    _check(load_arff(path, labels=1))


def _libsvm(path: Path) -> None:
    _check(load_libsvm(path))


def _xmc(path: Path) -> None:
    _check(load_xmc(path))


def _mulan(path: Path) -> None:
    assert all(isinstance(name, str) for name in read_mulan_xml(path))


def _csv(path: Path) -> None:
    _check(read_table(str(path), DataOptions(format="csv", labels="-1")))


def _csv_text(path: Path) -> None:
    with open_csv(path) as reader:
        columns = reader.choose(None, reader.names[:1], ())
        for _ in reader.blocks(columns, 3):
            pass


def _npz(path: Path) -> None:
    _check(read_table(str(path), DataOptions(format="npz")))


def _stored_npz(path: Path) -> None:
    _check(read_npz(path))


def _parquet(path: Path) -> None:
    _check(read_table(str(path), DataOptions(format="parquet", labels="-1")))


def _debtags(path: Path) -> None:
    _check(load_debtags(path))


def _pickle(path: Path) -> None:
    with path.open("rb") as stream:
        unpickle_arrays(stream)


def _tar(path: Path) -> None:
    read_members(path, {"a/b.txt": lambda stream: stream.read(1 << 16)})


def _results(path: Path) -> None:
    results = ResultsFile(path)
    assert isinstance(results.read(), list)


def _options(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "replace")
    label_choice(text)
    read_parameters(text.split("\n"))


def _model(path: Path) -> None:
    read_header(path)
    model = load_model(path)
    try:
        model.decision_function(np.ones((2, 3)))
    except Exception:  # a forged model may be of no use; it must not harm
        return


@functools.cache
def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((12, 3)), (rng.random((12, 3)) < 0.4).astype(int)


def _checkpoint(path: Path) -> None:
    X, Y = _data()
    PrML(checkpoint=str(path), max_iter=2, tol=0.5, random_state=0).fit(X, Y)


def _forged(read: Callable[[Path], None], seed: Callable[[], bytes]) -> Callable[[Path], None]:
    """Read a model file with this header, the arrays of the seed, and right checksums."""

    def read_forged(path: Path) -> None:
        text = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(seed())) as archive:
            parts = {i.filename: archive.read(i) for i in archive.infolist() if "npy" in i.filename}
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
            archive.writestr("header.json", text)
            archive.comment = f"prml model file sha256:{hashlib.sha256(text).hexdigest()}".encode()
        read(path)

    return read_forged


def _header_of(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read("header.json")


def _zipped(read: Callable[[Path], None]) -> Callable[[Path], None]:
    """Read an npz whose members, names and contents alike, are these pieces."""

    def read_zipped(path: Path) -> None:
        pieces = path.read_bytes().split(SPLIT)
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in zip(pieces[0::2], pieces[1::2], strict=False):
                archive.writestr(zipfile.ZipInfo(name.decode("utf-8", "replace") or "_"), part)
        read(path)

    return read_zipped


def _pieces_of(npz: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(npz)) as archive:
        held = [(info.filename.encode(), archive.read(info)) for info in archive.infolist()]
    return SPLIT.join(piece for pair in held for piece in pair)


def _written(write: Callable[[Path], object]) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed"
        write(path)
        return path.read_bytes()


@functools.cache
def _model_seed() -> bytes:
    X, Y = _data()
    return _written(lambda path: save_model(BinaryRelevance().fit(X, Y), path))


@functools.cache
def _checkpoint_seed() -> bytes:
    X, Y = _data()
    model = PrML(max_iter=2, tol=1e-9, random_state=0)
    return _written(lambda path: model.set_params(checkpoint=str(path)).fit(X, Y))


@functools.cache
def _sparse_npz_seed() -> bytes:
    X, Y = _data()
    names = np.array(["a", "b", "c"])
    parts = Parts(sp.csr_matrix(X), sp.csr_matrix(Y), np.arange(6), np.arange(6, 12), names, names)

    def write(path: Path) -> None:
        with io.BytesIO() as packed:
            write_npz(path, parts)
            with np.load(path) as held:  # stored, not deflated: mutations reach the arrays
                np.savez(packed, **dict(held))
            path.write_bytes(packed.getvalue())

    return _written(write)


@functools.cache
def _dense_npz_seed() -> bytes:
    X, Y = _data()
    buffer = io.BytesIO()
    np.savez(buffer, X=np.asfortranarray(X), Y=Y)
    return buffer.getvalue()


@functools.cache
def _parquet_seed() -> bytes:
    import pandas as pd

    buffer = io.BytesIO()
    pd.DataFrame({"x": [0.5, 1.0], "y": [0, 1]}).to_parquet(buffer)
    return buffer.getvalue()


@functools.cache
def _tar_seed() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in (("other", b"x"), ("a/b.txt", b"2 4 3\n0,2 0:1.5 3:2\n 1:1\n")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _pickle_seed(protocol: int) -> bytes:
    X, Y = _data()
    return pickle.dumps({"X": X[:2], "y": Y[:2]}, protocol)


LIBSVM = b"0,2 0:1.5 3:2\n 1:1\n1 2:-1e5\n"
RESULT = {"dataset": "flags", "method": "BR", "trial": 0, "setup": "full", "code": "x"}

# name: (reader, seeds)
TARGETS: dict[str, tuple[Callable[[Path], None], list[Callable[[], bytes]]]] = {
    "arff": (
        _arff,
        [
            lambda: ARFF + b"1,red,0\n-2.5e3,'light green',1\n?,red,0\n",
            lambda: ARFF + b"{0 1,1 'light green'}\n{}\n{2 1}\n",
            lambda: ARFF.replace(b"{red,'light green'}", b"{0,1,2}") + b"1,2,0\n3,1,1",
            lambda: gzip.compress(ARFF + b"1,red,0\n"),
        ],
    ),
    "arff-labels": (
        _arff_all_labels,
        [lambda: b"@relation r\n@attribute l {1,0}\n@attribute s numeric\n@data\n{1 2}\n{0 1}\n"],
    ),
    "libsvm": (
        _libsvm,
        [lambda: LIBSVM, lambda: gzip.compress(LIBSVM), lambda: bz2.compress(LIBSVM)],
    ),
    "xmc": (
        _xmc,
        [lambda: b"2 4 3\n0,2 0:1.5 3:2\n 1:1\n", lambda: lzma.compress(b"1 1 1\n0 0:1")],
    ),
    "mulan-xml": (
        _mulan,
        [lambda: b'<labels xmlns="urn:m"><label name="a"><label name="b"/></label></labels>'],
    ),
    "csv": (_csv, [lambda: b'x,"a, b",y\n1.5,2,0\n-1,3e3,1\n"0",1,\n']),
    "csv-text": (_csv_text, [lambda: 'text,y\n"say ""hé""\nagain",1\nplain,0\n'.encode()]),
    "npz": (_npz, [_sparse_npz_seed, _dense_npz_seed]),
    "npz-members": (
        _zipped(_npz),
        [lambda: _pieces_of(_sparse_npz_seed()), lambda: _pieces_of(_dense_npz_seed())],
    ),
    "dataset-file": (_stored_npz, [_sparse_npz_seed]),
    "dataset-members": (_zipped(_stored_npz), [lambda: _pieces_of(_sparse_npz_seed())]),
    "parquet": (_parquet, [_parquet_seed]),
    "debtags": (
        _debtags,
        [
            lambda: (
                b"# c\ntag\ta::b\ntag\tc\np\ttrain\tan editor\t0 1\n"
                b"q\ttest\tan editor\t1\nr\ttrain\tan editor\t0\n"
            )
        ],
    ),
    "pickle": (_pickle, [functools.partial(_pickle_seed, p) for p in (3, 4)]),
    "tar": (_tar, [_tar_seed, lambda: gzip.compress(_tar_seed())]),
    "results": (_results, [lambda: json.dumps(RESULT).encode() + b"\n"]),
    "options": (_options, [lambda: b"C=0.1\nkernel=rbf\ncv=[1, 2]\nx=none"]),
    "model": (_model, [_model_seed]),
    "model-header": (_forged(_model, _model_seed), [lambda: _header_of(_model_seed())]),
    "checkpoint": (_checkpoint, [_checkpoint_seed]),
    "checkpoint-header": (
        _forged(_checkpoint, _checkpoint_seed),
        [lambda: _header_of(_checkpoint_seed())],
    ),
}


def run(name: str, content: bytes, folder: Path) -> str | None:
    """Give `content` to a reader; return its sentence, or None when it gave data."""
    path = folder / f"fuzzed-{name}"
    path.write_bytes(content)
    try:
        TARGETS[name][0](path)
    except (ValueError, click.ClickException) as error:
        sentence = error.format_message() if isinstance(error, click.ClickException) else str(error)
        assert sentence and len(sentence) < LONGEST_SENTENCE, f"no sentence: {sentence[:200]!r}"
        assert sentence.isprintable(), f"not one line: {sentence[:200]!r}"
        return sentence
    return None

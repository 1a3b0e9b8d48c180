"""What is here: a small dataset in a small sdist, laid out like the real ones."""

import bz2
import hashlib
import io
import tarfile

import numpy as np

from prml.datasets.table import ArchiveSource, DatasetInfo, Sdist

X = np.array([[0.5, 0.0, -2.0], [0.0, 0.0, 1.0], [3.0, 1.0, 0.0], [0.0, 7.0, 0.25]])
Y = np.array([[1, 0], [0, 0], [1, 1], [0, 1]])
N_TRAIN = 3
ROOT = "tiny-data-1.0"


def python2_pickle(arrays):
    """The text that Python 2 wrote for a dict of numpy arrays (protocol 0)."""
    parts = [b"(d"]
    for name, values in arrays.items():
        shape = b"".join(b"I%d\n" % size for size in values.shape)
        code = values.dtype.str[1:].encode()
        escaped = repr(values.tobytes())[1:].encode()
        parts.append(
            b"S'" + name.encode() + b"'\n"
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR"
            b"(I1\n(" + shape + b"tcnumpy\ndtype\n(S'" + code + b"'\nI0\nI1\ntR"
            b"(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\nS" + escaped + b"\ntbs"
        )
    return b"".join(parts) + b"."


def members(layout="pickle"):
    parts = (("train", X[:N_TRAIN], Y[:N_TRAIN]), ("test", X[N_TRAIN:], Y[N_TRAIN:]))
    held = {}
    for part, rows, labels in parts:
        if layout == "pickle":
            content = bz2.compress(python2_pickle({"y": labels, "X": rows}))
        else:
            lines = [f"{len(rows)} 3 2"]
            for row, label in zip(rows, labels, strict=True):
                pairs = " ".join(f"{j}:{row[j]!r}" for j in np.flatnonzero(row).tolist())
                lines.append(",".join(map(str, np.flatnonzero(label))) + " " + pairs)
            content = "\n".join(lines).replace("np.float64(", "").replace(")", "").encode()
        held[f"{ROOT}/data/{part}.{layout}"] = content
    return held


def write_sdist(folder, contents=None, layout="pickle"):
    """Write the archive; return its `DatasetInfo`, whose checksum is right."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = members(layout) if contents is None else contents
    # A setup script that would leave a trace, if anything ever ran it.
    trap = f"open({str(folder / 'setup-was-run')!r}, 'w')\n".encode()
    path = folder / f"{ROOT}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {f"{ROOT}/setup.py": trap, **contents}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    raw = path.read_bytes()
    sdist = Sdist("Tiny_Data", "1.0", path.name, hashlib.sha256(raw).hexdigest(), len(raw))
    names = f"{ROOT}/data/train.{layout}", f"{ROOT}/data/test.{layout}"
    return DatasetInfo(
        "tiny", 4, 3, 2, 4, "test", "Nobody 1970.", sources=(ArchiveSource(sdist, *names, layout),)
    )

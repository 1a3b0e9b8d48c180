"""What is here: bombs, links and formulas - files made to do harm, and names made to."""

import bz2
import csv
import gzip
import io
import json
import lzma
import resource
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from tests.reliability.test_numbers import problem

from prml import PrBR, save_model
from prml.cli.group import run as run_command
from prml.cli.tables import DataOptions, read_table
from prml.datasets import load_arff, load_libsvm, load_xmc, text_input
from prml.datasets.archive import read_members
from prml.datasets.arff_columns import read_mulan_xml
from prml.report import write_model_report

HOSTILE = ["=cmd()|' /C calc'!A0", "<script>alert(1)</script>", "+1+1", "@SUM(A1)"]
OPENERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("packing", OPENERS)
@pytest.mark.parametrize(
    ("load", "start"),
    [
        (load_libsvm, b"0 1:"),
        (load_xmc, b"1 1 1\n0 0:"),
        (load_arff, b"@relation 'r: -C 1'\n@attribute "),
    ],
)
def test_a_small_file_that_unpacks_without_end(packing, load, start, tmp_path, monkeypatch):
    monkeypatch.setattr(text_input, "HARMLESS_SIZE", 1 << 20)
    path = tmp_path / "bomb"
    path.write_bytes(OPENERS[packing](start + b"1" * (1 << 24)))  # a line of 16 MB
    with pytest.raises(ValueError, match="unpacks to more than 250 times its size"):
        load(path)


def test_text_that_packs_well_is_still_read(tmp_path):
    path = tmp_path / "zeros.svm.gz"
    path.write_bytes(gzip.compress(b"0 1:1 2:1\n" * 20000))
    assert load_libsvm(path).X.shape == (20000, 2)


def test_an_npz_that_claims_more_than_it_holds_or_unpacks_without_end(tmp_path):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4, 1000000000000), }"
        header += b" " * (117 - len(header)) + b"\n"
        array = b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header
        archive.writestr("X.npy", array + bytes(1 << 20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="claims the shape"):
        read_table(str(path), DataOptions(format="npz"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # kilobytes


def test_entities_of_xml_do_not_multiply(tmp_path):
    path = tmp_path / "labels.xml"
    steps = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    path.write_text(
        f'<!DOCTYPE x [<!ENTITY a0 "ha">{steps}]><labels><label name="a"/>&a9;</labels>'
    )
    with pytest.raises(ValueError, match="this is not XML"):
        read_mulan_xml(path)
    path.write_text(
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
        '<labels><label name="&a;"/></labels>'
    )
    with pytest.raises(ValueError, match="this is not XML"):
        read_mulan_xml(path)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE]
)
def test_members_that_are_no_files(tmp_path, kind):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("data.txt")
        member.type, member.linkname = kind, "/etc/hostname"
        archive.addfile(member)
        for name in ("../data.txt", "/data.txt", "./data.txt"):
            climbing = tarfile.TarInfo(name)
            climbing.size = 1
            archive.addfile(climbing, io.BytesIO(b"x"))
    with pytest.raises(ValueError, match=r"data\.txt"):
        read_members(path, {"data.txt": lambda stream: stream.read()})
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar"]


@pytest.fixture(scope="module")
def hostile_model(tmp_path_factory):
    X, Y = problem(n=40)
    model = PrBR(C=1.0, loss="squared_hinge").fit(X, pd.DataFrame(Y, columns=HOSTILE))
    folder = tmp_path_factory.mktemp("hostile")
    np.savez(folder / "data.npz", X=X)
    return model, save_model(model, folder / "model.prml"), folder / "data.npz"


@pytest.mark.parametrize("options", [[], ["--what", "scores"], ["-k", "3"]], ids=str)
def test_no_cell_of_a_csv_is_a_formula(hostile_model, tmp_path, capsys, options):
    _, model, data = hostile_model
    out = tmp_path / "out.csv"
    assert run_command(["predict", str(model), str(data), *options, "-o", str(out), "-q"]) == 0
    cells = [cell for row in csv.reader(out.read_text().splitlines()) for cell in row]
    named = [cell for cell in cells if any(name in cell for name in HOSTILE)]
    assert named
    for cell in named:
        assert not cell.startswith(("=", "+", "@", "-", "\t")), cell


def test_other_outputs_hold_names_as_data(hostile_model, tmp_path):
    model, path, data = hostile_model
    out = tmp_path / "out.jsonl"
    assert (
        run_command(["predict", str(path), str(data), "--what", "scores", "-o", str(out), "-q"])
        == 0
    )
    assert list(json.loads(out.read_text().splitlines()[0])["scores"]) == HOSTILE
    X, Y = problem(n=40)
    page = write_model_report(tmp_path / "page.html", model, X, Y, title=HOSTILE[1]).read_text()
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page

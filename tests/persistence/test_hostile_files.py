"""What is here: spoiled and forged model files are refused in a sentence, and do nothing."""

import copy
import io
import json
import re
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from tests.persistence.attacks import DAMAGE, Trap, forge, npy

from prml.baselines import BinaryRelevance
from prml.persistence import ModelFileError, load_model, read_header, save_model

X, Y = make_multilabel_classification(n_samples=40, n_features=6, n_classes=4, random_state=0)
X = X / np.abs(X).max()


@pytest.fixture(scope="module")
def model():
    return BinaryRelevance(loss="logistic").fit(X, Y)


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.prml"
    return save_model(model, path, metadata={"note": "whole"}).read_bytes()


def load(content, folder, **options):
    path = folder / "spoiled.prml"
    path.write_bytes(content)
    try:
        return load_model(path, **options)
    finally:
        assert [p.name for p in folder.iterdir()] == ["spoiled.prml"]


def refused(content, folder, match=None, limit=4 << 20):
    """Expect a sentence, and no more memory than the file accounts for."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            load(content, folder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    reason = message.split("spoiled.prml cannot be read as a model: ")[1]
    assert match is None or re.search(match, reason), reason
    assert message.endswith(".") and "\n" not in message
    assert peak < limit
    return message


@pytest.mark.parametrize("spoil", DAMAGE)
def test_five_hundred_spoiled_files(spoil, model, content, tmp_path):
    """Together more than 500: each is refused, or what was hit did not matter."""
    expected = model.decision_function(X)
    n_refused = 0
    for seed in range(64):
        spoiled = spoil(content, np.random.default_rng(seed))
        for options in ({}, {"mmap_mode": "c"}):
            try:
                again = load(spoiled, tmp_path, **options)
            except ModelFileError as error:
                assert "\n" not in str(error) and str(error).endswith(".")
                n_refused += 1
            else:
                np.testing.assert_array_equal(again.decision_function(X), expected)
    assert n_refused >= 64


def mutate(node, rng):
    """Change one random place of a JSON value."""
    replacements = [None, True, -1, 10**30, 1e308, "", "../x", [], {}, {"@": "array", "part": 0}]
    node = copy.deepcopy(node)
    place, key = [node], 0
    while True:
        inside = place[key]
        children = (
            list(inside)
            if isinstance(inside, dict)
            else range(len(inside) if isinstance(inside, list) else 0)
        )
        if not len(children) or rng.random() < 0.2:
            break
        place, key = inside, children[int(rng.integers(len(children)))]
    if isinstance(place, dict) and rng.random() < 0.2:
        del place[key]
    else:
        place[key] = replacements[int(rng.integers(len(replacements)))]
    return node


def test_two_hundred_forged_headers_do_no_harm(content, tmp_path):
    """With right checksums a change may be a valid other model, but never another error."""
    outcomes = set()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        forged = forge(content, change_header=lambda header, rng=rng: mutate(header, rng))
        for read in (load_model, read_header):
            path = tmp_path / "forged.prml"
            path.write_bytes(forged)
            try:
                read(path)
                outcomes.add("read")
            except ModelFileError as error:
                assert "\n" not in str(error)
                outcomes.add("refused")
    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize("shape", [(2**40,), (2**31, 2**31), (10**30, 2), (4, 2**50)])
def test_huge_claimed_shapes_are_refused_before_anything_is_allocated(content, tmp_path, shape):
    def claim(header):
        for part in header["parts"]:
            part["shape"], part["dtype"] = list(shape), "<f8"
        return header

    def lie(parts):
        return {name: npy(shape=shape, payload=bytes(64)) for name in parts}

    refused(forge(content, claim, lie), tmp_path, "claims the shape|array of numbers")


def test_object_arrays_are_refused_and_never_unpickled(content, tmp_path):
    trap = tmp_path.parent / "trap-was-sprung"
    evil = npy(np.array([Trap(str(trap))], dtype=object))

    def claim(header):
        for part in header["parts"]:
            part["shape"], part["dtype"] = [1], "|O"
        return header

    refused(
        forge(content, claim, lambda parts: dict.fromkeys(parts, evil)),
        tmp_path,
        "array of numbers",
    )
    assert not trap.exists()


@pytest.mark.parametrize(
    "header",
    [
        "__import__('os').system('true')",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "(" * 3000,
        "",
    ],
)
def test_array_headers_that_are_no_headers(content, tmp_path, header):
    part = npy(header=header, payload=bytes(8))
    refused(forge(content, None, lambda parts: dict.fromkeys(parts, part)), tmp_path)


@pytest.mark.parametrize(
    "name", ["../escape.npy", "/etc/evil.npy", "arrays/../../x.npy", "arrays/00.npy", "C:\\x.npy"]
)
def test_path_names_are_refused(content, tmp_path, name):
    def smuggle(parts):
        return parts | {name: npy(np.zeros(1))}

    refused(forge(content, None, smuggle), tmp_path, "no part of a model")
    assert not (tmp_path.parent / "escape.npy").exists()


def test_compressed_bombs_are_refused_unread(content, tmp_path):
    def inflate(parts):
        return dict.fromkeys(parts, npy(np.zeros(2_000_000)))

    bomb = forge(content, None, inflate, compression=zipfile.ZIP_DEFLATED)
    assert len(bomb) < 500_000
    refused(bomb, tmp_path, "compressed", limit=2 << 20)


def test_overlapping_entries_are_refused(content, tmp_path):
    """Entries that show the same bytes would multiply the file in memory."""
    first = content.index(b"PK\x01\x02")
    second = content.index(b"PK\x01\x02", first + 4)
    spoiled = bytearray(content)
    spoiled[second + 42 : second + 46] = content[first + 42 : first + 46]  # where it begins
    refused(bytes(spoiled), tmp_path, "not where the directory says")
    spoiled = bytearray(content)
    size = int.from_bytes(content[first + 20 : first + 24], "little") + 64
    spoiled[first + 20 : first + 28] = size.to_bytes(4, "little") * 2
    refused(bytes(spoiled), tmp_path, "overlaps")


def test_directory_that_claims_more_than_the_file_holds(content, tmp_path):
    spoiled = bytearray(content)
    at = content.rindex(b"PK\x01\x02")
    assert content[at + 46 : at + 57] == b"header.json"
    spoiled[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2
    refused(bytes(spoiled), tmp_path, "overlaps another part or the file's end")


def test_part_listed_twice_missing_or_superfluous(content, tmp_path):
    twice = forge(content, lambda header: header | {"parts": header["parts"] + header["parts"][:1]})
    refused(twice, tmp_path, "not those that")
    fewer = forge(content, lambda header: header | {"parts": header["parts"][1:]})
    refused(fewer, tmp_path, "not those that")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "Expecting value"),
        (b"[1]", "does not state its format"),
        (b'{"format": true}', "does not state its format"),
        (b'{"format": 0}', "format 0"),
        (b'{"format": 1}', "lists no parts"),
        (b'{"format": 99}', "a newer prml is needed"),
        (b'{"format": ' + b"9" * 5000 + b"}", "digits"),
        (b"[" * 100_000, "recursion|not whole|nest"),
        (b"\xff\xfe\xfa", "decode|Expecting"),
    ],
)
def test_headers_that_are_no_headers(content, tmp_path, text, sentence):
    refused(forge(content, raw_header=text), tmp_path, f"(?i){sentence}", limit=16 << 20)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"predict": 1}, "cannot have the attribute 'predict'"),
        ({"n_labels_": 1}, "cannot have the attribute 'n_labels_'"),
        ({"__class__": 1}, "cannot have the attribute '__class__'"),
        ({"coef_": {"@": "array", "part": 99}}, "part 99, which is not there"),
        ({"coef_": {"@": "array", "part": True}}, "part True"),
        ({"coef_": {"@": "pickle", "part": 0}}, "unknown kind 'pickle'"),
        ({"coef_": {"@": "strings", "shape": [10**12], "items": ["a"]}}, "for 1 values"),
        ({"x": {"@": "estimator", "class": "os.system", "params": {}, "state": {}}}, "'os.system'"),
        ({"x": {"@": "estimator", "class": "LEML", "params": {"q": 1}, "state": {}}}, "'q'"),
        ({"x": {"@": "float", "value": "1e3"}}, "'1e3'"),
        ({"x": {"@": "dtype", "name": "object"}}, "object"),
    ],
)
def test_forged_attributes(content, tmp_path, state, sentence):
    def change(header):
        header["model"]["state"].update(state)
        return header

    refused(forge(content, change), tmp_path, sentence)


def test_arrays_that_do_not_fit_together(content, tmp_path):
    def change(header):
        state = header["model"]["state"]
        state["coef_"], state["intercept_"] = state["intercept_"], state["coef_"]
        return header

    refused(forge(content, change), tmp_path, "coef_ is not an array of 2 dimensions")


def test_sparse_indices_out_of_range(content, tmp_path):
    """Compiled loops trust the indices of a matrix: a forged one is stopped at the door."""

    def change(header):
        parts = header["parts"]
        number = next(i for i, p in enumerate(parts) if p["shape"] == [4])
        node = {"@": "array", "part": number}
        header["model"]["state"]["extra"] = {
            "@": "sparse",
            "kind": "csr_matrix",
            "shape": [3, 2],
            "data": node,
            "indices": node,
            "indptr": node,
        }
        return header

    refused(forge(content, change), tmp_path)


def test_deep_nesting(content, tmp_path):
    node = 1
    for _ in range(200):
        node = {"@": "tuple", "items": [node]}

    def change(header):
        header["model"]["state"]["extra"] = node
        return header

    refused(forge(content, change), tmp_path, "nested deeper")


def test_forged_header_without_its_checksum_is_refused(content, tmp_path):
    """The archive is faultless and the arrays are right: the header's own checksum tells."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        comment, buffer = archive.comment, io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as copy_of_it:
            for info in archive.infolist():
                part = archive.read(info)
                if info.filename == "header.json":
                    header = json.loads(part)
                    header["metadata"] = {"@": "dict", "keys": ["note"], "values": ["forged"]}
                    part = json.dumps(header).encode()
                copy_of_it.writestr(info.filename, part)
            copy_of_it.comment = comment
    refused(buffer.getvalue(), tmp_path, "header.json has the SHA-256")

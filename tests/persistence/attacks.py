"""What is here: ways to spoil a model file, from a flipped bit to a forgery with all checksums."""

import hashlib
import io
import json
import struct
import zipfile

import numpy as np


def rewrite(path, change_header=None, change_parts=None, **options):
    """Write a model file anew with other content and right checksums, as an attacker would."""
    path.write_bytes(forge(path.read_bytes(), change_header, change_parts, **options))


def forge(
    content, change_header=None, change_parts=None, compression=zipfile.ZIP_STORED, raw_header=None
):
    """Return the bytes of a changed model file in which every checksum is right again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    header = json.loads(parts.pop("header.json"))
    if change_parts:
        parts = change_parts(parts)
    for part in header["parts"]:
        if part["name"] in parts:
            part["sha256"] = hashlib.sha256(parts[part["name"]]).hexdigest()
    if change_header:
        header = change_header(header)
    text = json.dumps(header).encode() if raw_header is None else raw_header
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.writestr("header.json", text)
        archive.comment = f"prml model file sha256:{hashlib.sha256(text).hexdigest()}".encode()
    return buffer.getvalue()


def npy(array=None, *, descr="<f8", shape=(), payload=b"", header=None):
    """Return a part: a real array, or a header that claims what it likes."""
    buffer = io.BytesIO()
    if array is not None:
        np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=True)
        return buffer.getvalue()
    text = header or f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + payload


class Trap:
    """An object whose unpickling would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


# Damage as it happens: nothing is repaired afterwards. Each takes the content and a Generator.


def flip(content, rng):
    spoiled = bytearray(content)
    for at in rng.integers(len(content), size=rng.integers(1, 6)):
        spoiled[at] ^= 1 << rng.integers(8)
    return bytes(spoiled)


def truncate(content, rng):
    return content[: rng.integers(len(content))]


def cut_out(content, rng):
    start, end = sorted(rng.integers(len(content), size=2))
    return content[:start] + content[end:]


def put_in(content, rng):
    at = rng.integers(len(content))
    return content[:at] + rng.bytes(int(rng.integers(1, 200))) + content[at:]


def overwrite(content, rng):
    at = rng.integers(len(content))
    junk = rng.bytes(int(rng.integers(1, 64)))
    return content[:at] + junk + content[at + len(junk) :]


def repeat(content, rng):
    start, end = sorted(rng.integers(len(content), size=2))
    return content[:end] + content[start:end] + content[end:]


def junk(content, rng):
    return rng.bytes(int(rng.integers(0, 2000)))


def swap_parts(content, rng):
    """Exchange two arrays; the archive itself is faultless."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        comment = archive.comment
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    one, other = rng.choice([name for name in parts if name.endswith("npy")], 2, replace=False)
    parts[one], parts[other] = parts[other], parts[one]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.comment = comment
    return buffer.getvalue()


DAMAGE = [flip, truncate, cut_out, put_in, overwrite, repeat, junk, swap_parts]

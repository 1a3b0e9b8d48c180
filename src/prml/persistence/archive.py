"""What is here: the archive - arrays in and out of a zip file, every claim checked before use."""

import hashlib
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from prml.datasets.atomic_file import replacing
from prml.datasets.text_input import shown
from prml.persistence.errors import ModelFileError

FORMAT = 1
HEADER = "header.json"
MAX_HEADER_BYTES = 1 << 29
COMMENT = re.compile(rb"prml model file sha256:([0-9a-f]{64})")
PART_NAME = re.compile(r"arrays/(0|[1-9][0-9]{0,8})\.npy")
NPY_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[|<][biuf]\d)', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(\d{1,18}(, \d{1,18}){0,31},?)?)\), \} *\n"
)
ALIGNMENT = 64
_ZIP64_FIELD = 20
_PADDING_ID = 0x7072  # "pr": a private extra field that moves the array to an aligned offset
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # no clock in the file: equal models make equal files

# What a damaged file can make the readers of zip, JSON and NumPy say.
DAMAGE = (
    zipfile.BadZipFile,
    struct.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)

MmapMode = Literal["r", "c"] | None


class _Hashing:
    """A file that hashes what is written through it."""

    def __init__(self, target: Any):
        self._target = target
        self.sha256 = hashlib.sha256()

    def write(self, chunk: bytes) -> int:
        self.sha256.update(chunk)
        return self._target.write(chunk)


def write_archive(path: Path, header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write header and arrays, atomically; `header["parts"]` is filled in."""
    with replacing(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        parts = []
        for number, array in enumerate(arrays):
            array = _little_endian(array)
            info = _entry(f"arrays/{number}.npy")
            start = out.tell() + _LOCAL_HEADER.size + len(info.filename) + _ZIP64_FIELD + 4
            padding = -start % ALIGNMENT
            info.extra = struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
            with archive.open(info, "w", force_zip64=True) as target:
                hashing = _Hashing(target)
                np.lib.format.write_array(hashing, array, version=(1, 0), allow_pickle=False)
            parts.append(
                {
                    "name": info.filename,
                    "dtype": array.dtype.str,
                    "shape": list(array.shape),
                    "sha256": hashing.sha256.hexdigest(),
                }
            )
        content = json.dumps({**header, "parts": parts}, ensure_ascii=False, allow_nan=False)
        text = content.encode("utf-8", "surrogatepass")
        if len(text) > MAX_HEADER_BYTES:
            raise ModelFileError(
                f"the names and parameters of the model take {len(text)} bytes; a model file "
                f"holds at most {MAX_HEADER_BYTES} of them."
            )
        archive.writestr(_entry(HEADER), text)
        archive.comment = f"prml model file sha256:{hashlib.sha256(text).hexdigest()}".encode()


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    info.create_system = 3  # the same bytes on every system
    return info


def _little_endian(array: np.ndarray) -> np.ndarray:
    if not isinstance(array.dtype, np.dtype) or array.dtype.kind not in "biuf":
        raise ModelFileError(f"an array of dtype {array.dtype} cannot be stored.")
    array = np.asarray(array)  # a memory map or matrix is stored as the plain array it shows
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


class ArchiveReader:
    """Read a model file part by part.

    Before anything is allocated: every part lies inside the file, uncompressed, apart from all
    others, and has the size that its dtype and shape ask for. So memory is bounded by the file.

    Parameters
    ----------
    path : Path
    mmap_mode : {None, "r", "c"}
        Map the arrays instead of reading them.
    verify : bool
        Compare the checksums of the arrays; that of the header is always compared.
    """

    def __init__(self, path: Path, mmap_mode: MmapMode = None, verify: bool = True):
        self._mmap_mode, self._verify, self._path = mmap_mode, verify, path
        self._file = path.open("rb")
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            with zipfile.ZipFile(self._file) as archive:
                self._ranges = self._locate(archive.infolist())
                comment = COMMENT.fullmatch(archive.comment)
            if comment is None:
                raise ModelFileError("it does not carry the mark of a prml model file")
            self.header = self._read_header(comment[1].decode())
            self._parts = self._check_parts()
        except BaseException:
            self._file.close()
            raise
        self._loaded: dict[int, np.ndarray] = {}

    def __enter__(self) -> "ArchiveReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _locate(self, entries: list[zipfile.ZipInfo]) -> dict[str, tuple[int, int]]:
        """Return (start, size) of the bytes of each entry."""
        ranges: dict[str, tuple[int, int]] = {}
        for info in entries:
            if info.filename != HEADER and not PART_NAME.fullmatch(info.filename):
                raise ModelFileError(f"it holds {info.filename!r}, which is no part of a model")
            if info.filename in ranges:
                raise ModelFileError(f"it holds {info.filename} twice")
            if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
                raise ModelFileError(f"{info.filename} is compressed; parts are stored as they are")
            if info.flag_bits & 0x1:
                raise ModelFileError(f"{info.filename} is encrypted")
            self._file.seek(info.header_offset)
            fields = _LOCAL_HEADER.unpack(self._file.read(_LOCAL_HEADER.size))
            local_name = self._file.read(fields[-2])
            if fields[0] != b"PK\x03\x04" or local_name != info.filename.encode():
                raise ModelFileError(f"{info.filename} is not where the directory says")
            ranges[info.filename] = (self._file.tell() + fields[-1], info.file_size)
        end = 0
        for info in sorted(entries, key=lambda info: info.header_offset):
            start, size = ranges[info.filename]
            if info.header_offset < end or start + size > self._size:
                raise ModelFileError(f"{info.filename} overlaps another part or the file's end")
            end = start + size
        if HEADER not in ranges:
            raise ModelFileError(f"it holds no {HEADER}")
        return ranges

    def _read_header(self, sha256: str) -> dict[str, Any]:
        start, size = self._ranges[HEADER]
        if size > MAX_HEADER_BYTES:
            raise ModelFileError(
                f"{HEADER} claims {size} bytes; at most {MAX_HEADER_BYTES} are read"
            )
        self._file.seek(start)
        text = self._file.read(size)
        _compare(HEADER, hashlib.sha256(text).hexdigest(), sha256)
        header = json.loads(text)
        if not isinstance(header, dict) or type(header.get("format")) is not int:
            raise ModelFileError(f"{HEADER} does not state its format")
        if header["format"] > FORMAT:
            raise ModelFileError(
                f"it is written in format {header['format']} and this version of prml reads up to "
                f"{FORMAT}; a newer prml is needed"
            )
        if header["format"] < 1:
            raise ModelFileError(f"{HEADER} states the format {header['format']}")
        return header

    def _check_parts(self) -> list[dict[str, Any]]:
        parts = self.header.get("parts")
        if not isinstance(parts, list):
            raise ModelFileError(f"{HEADER} lists no parts")
        names = {part["name"] for part in parts}
        if len(names) != len(parts) or names | {HEADER} != self._ranges.keys():
            raise ModelFileError(f"its parts are not those that {HEADER} lists")
        return parts

    def array(self, number: Any) -> np.ndarray:
        """Return the array of a part; asked again, the same one."""
        if type(number) is not int or not 0 <= number < len(self._parts):
            raise ModelFileError(f"{HEADER} refers to part {number!r}, which is not there")
        if number not in self._loaded:
            self._loaded[number] = self._read_array(self._parts[number])
        return self._loaded[number]

    def _read_array(self, part: dict[str, Any]) -> np.ndarray:
        name = part["name"]
        start, size = self._ranges[name]
        self._file.seek(start)
        shape, fortran, dtype = self._array_header(name)
        offset = self._file.tell()
        if dtype.str != part["dtype"] or list(shape) != part["shape"]:
            raise ModelFileError(f"{name} is not of the shape and dtype that {HEADER} lists")
        wanted = math.prod(shape) * dtype.itemsize
        if offset - start + wanted != size:
            raise ModelFileError(
                f"{name} claims the shape {shape}, which takes {wanted} bytes, and holds "
                f"{start + size - offset}"
            )
        order: Literal["C", "F"] = "F" if fortran else "C"
        if self._mmap_mode is not None and wanted:
            array: np.ndarray = np.memmap(
                self._path,
                dtype=dtype,
                mode=self._mmap_mode,
                offset=offset,
                shape=shape,
                order=order,
            )
            raw = _raw_bytes(array)
        else:
            array = np.empty(shape, dtype, order)
            raw = _raw_bytes(array)
            self._file.seek(offset)
            if self._file.readinto(raw) != wanted:
                raise ModelFileError(f"{name} ends too early")
        if self._verify:
            self._compare_bytes(part, start, offset, raw)
        return array

    def _array_header(self, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
        """Read what NumPy wrote before an array of numbers; nothing of it is evaluated."""
        magic, length = struct.unpack("<8sH", self._file.read(10))
        if magic != b"\x93NUMPY\x01\x00":
            raise ModelFileError(f"{name} is not an array of NumPy's format 1.0")
        found = NPY_HEADER.fullmatch(self._file.read(length))
        if found is None:
            raise ModelFileError(f"{name} does not say that it is an array of numbers")
        shape = tuple(int(size) for size in found["shape"].split(b",") if size.strip())
        return shape, found["fortran"] == b"True", np.dtype(found["dtype"].decode())

    def _compare_bytes(self, part: dict[str, Any], start: int, offset: int, raw) -> None:
        self._file.seek(start)
        found = hashlib.sha256(self._file.read(offset - start))
        found.update(raw)
        _compare(part["name"], found.hexdigest(), part["sha256"])


def _raw_bytes(array: np.ndarray) -> memoryview:
    """View the memory of a contiguous array, in the order in which it lies there."""
    flat = array.ravel(order="K")
    return memoryview(flat.view(np.uint8)) if flat.size else memoryview(bytearray())


def _compare(name: str, found: str, expected: Any) -> None:
    if found != expected:
        raise ModelFileError(
            f"{name} has the SHA-256 {found}, expected {shown(str(expected))}: it is damaged"
        )

"""What is here: the lines of a plain or compressed text file, in blocks, with their numbers."""

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

_BLOCK = 1 << 20
_OPENERS = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)

# Text shrinks to a fifth, tables of zeros to a hundredth: beyond this a file is a bomb.
LARGEST_RATIO = 250
HARMLESS_SIZE = 1 << 28

# A decimal number. The possessive quantifiers keep every match linear in the line's length.
NUMBER = rb"[-+]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][-+]?+\d++)?+"


class LineReader:
    """Hand out lines, and make errors that name the file and the line.

    `line` is the number of the last line handed out, from 1.
    """

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.stream, self.name, self.line = stream, name, 0

    def readline(self) -> bytes:
        """Return the next line with its end, or b"" after the last."""
        try:
            line = self.stream.readline()
        except _DAMAGE as error:
            raise self.error(f"the file is damaged or cut off ({error})", self.line + 1) from None
        self.line += bool(line)
        return line

    def blocks(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the number of a block's first line, and its lines; about a megabyte each."""
        while True:
            first = self.line + 1
            try:
                lines = self.stream.readlines(_BLOCK)
            except _DAMAGE as error:
                raise self.error(f"the file is damaged or cut off ({error})", first) from None
            if not lines:
                return
            self.line += len(lines)
            yield first, lines

    def error(self, message: str, line: int | None = None) -> ValueError:
        """Make the error to raise for a line; by default the last one handed out."""
        return ValueError(
            f"{self.name}, line {max(self.line if line is None else line, 1)}: {message}."
        )


class _Bounded(io.RawIOBase):
    """A decompressor that gives up when a small file unpacks without end."""

    def __init__(self, plain: Any, packed_size: int) -> None:
        self._plain, self._given = plain, 0
        self._most = max(HARMLESS_SIZE, LARGEST_RATIO * packed_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._plain.read(len(buffer))
        self._given += len(piece)
        if self._given > self._most:
            raise OSError(
                f"it unpacks to more than {LARGEST_RATIO} times its size; unpack it first if that "
                "is meant"
            )
        buffer[: len(piece)] = piece
        return len(piece)


@contextmanager
def open_lines(path: str | os.PathLike) -> Iterator[LineReader]:
    """Open a file; gzip, bzip2 and xz are known by their first bytes, whatever the name."""
    with open(path, "rb") as raw:
        start = raw.peek(6)
        for magic, opener in _OPENERS:
            if start.startswith(magic):
                with opener(raw) as plain:
                    # One buffer above the decompressor: its own readline is slow.
                    bounded = _Bounded(plain, os.fstat(raw.fileno()).st_size)
                    buffered = io.BufferedReader(bounded, _BLOCK)
                    yield LineReader(buffered, os.fspath(path))
                return
        yield LineReader(raw, os.fspath(path))


def shown(text: str | bytes) -> str:
    """Quote a piece of a file for an error message, cut to a readable length."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


def reason_of(error: BaseException) -> str:
    """Return what an error of another library says as a short printable line without full stop."""
    told = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in told)
    return line if len(line) <= 500 else line[:497] + "..."

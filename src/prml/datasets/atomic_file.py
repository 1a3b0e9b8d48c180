"""What is here: write a file so that nobody ever sees half of it."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a draft beside `path`, and rename it to `path` when the block ends without an error.

    `path` is at every moment absent, the old file or the complete new one. Processes that write
    the same path at once each have a draft of their own; the last rename stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        with draft.open("xb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        try:
            os.replace(draft, path)
        except PermissionError:
            # Windows: another process has just put its file there and is reading it.
            if not path.is_file():
                raise
    finally:
        draft.unlink(missing_ok=True)

"""What is here: one line on stderr, redrawn while something long is under way."""

import shutil
import sys
from contextlib import suppress

# no stderr, or one that is closed
BROKEN = (AttributeError, OSError, ValueError)


def is_watched() -> bool:
    """Whether somebody reads stderr as it is written: a terminal, or a notebook."""
    with suppress(*BROKEN):
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    return False


class LiveLine:
    """A line that is drawn over itself and gone in the end; nothing where nobody is watching.

    Examples
    --------
    >>> from prml.live_line import LiveLine
    >>> with LiveLine() as line:
    ...     line.show("half way")  # in a pipe: silence
    """

    def __init__(self) -> None:
        self._is_watched = is_watched()
        self._width = 0

    def show(self, text: str) -> None:
        """Draw `text` over what was drawn before, cut to one line."""
        if self._is_watched:
            text = text[: shutil.get_terminal_size().columns - 1]
            self._draw("\r" + text + " " * (self._width - len(text)))
            self._width = len(text)

    def __enter__(self) -> "LiveLine":
        return self

    def __exit__(self, *error: object) -> None:
        if self._width:
            self._draw("\r" + " " * self._width + "\r")

    def _draw(self, text: str) -> None:
        with suppress(*BROKEN):
            print(text, end="", file=sys.stderr, flush=True)

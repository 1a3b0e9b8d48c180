"""What is here: the line that a search redraws on a terminal, and its silence elsewhere."""

import os
import re
import subprocess
import sys

import pytest

from prml.live_line import LiveLine, is_watched

PROGRAM = """
import numpy as np
from prml import PrMLCV
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X @ rng.normal(size=(3, 2)) > 0).astype(int)
PrMLCV(losses=["squared"], gammas=[], teacher=False, low_rank=False, {}).fit(X, Y)
"""


def drawn_by(arguments):
    """What a search writes to a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    program = PROGRAM.format(arguments)
    env = {**os.environ, "COLUMNS": "60"}
    subprocess.run([sys.executable, "-c", program], check=True, stderr=theirs, env=env)
    os.write(theirs, b"end\n")
    text = b""
    while not text.endswith(b"end\r\n"):
        text += os.read(ours, 4096)
    os.close(ours)
    os.close(theirs)
    return text.decode().removesuffix("end\r\n")


def test_a_search_shows_its_best_where_somebody_watches():
    text = drawn_by("")
    lines = text.split("\r")
    shown = [line for line in lines if line.startswith("PrMLCV: ")]
    assert re.match(r"PrMLCV: \d+ s, \d+ tried, best \d\.\d{4}, \w+, squared", shown[0])
    assert all(len(line) < 60 for line in lines if "compiling" not in line)
    assert lines[-1] == "" and not lines[-2].strip()  # the terminal is left as it was found


@pytest.mark.parametrize("arguments", ["verbose=0", "callbacks=[lambda record: None]"])
def test_a_search_is_silent_when_asked_to(arguments):
    assert "PrMLCV" not in drawn_by(arguments)


def test_a_pipe_gets_nothing(capsys):
    assert not is_watched()
    with LiveLine() as line:
        line.show("half way")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("broken", [None, "closed"])
def test_without_a_standard_error_nothing_is_lost(monkeypatch, broken, tmp_path):
    stream = None
    if broken == "closed":
        stream = open(tmp_path / "log", "w")  # noqa: SIM115
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    assert not is_watched()
    line = LiveLine()
    line._is_watched = True  # it was there when the search began
    with line:
        line.show("half way")

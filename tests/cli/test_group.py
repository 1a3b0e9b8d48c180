"""What is here: the entry point - exit codes, one sentence for every failure, instant help."""

import os
import subprocess
import sys

import click
import pytest

from prml.cli import main
from prml.cli.group import COMMANDS, cli
from prml.cli.output import Output, plain


def run(capsys, *argv):
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_lists_every_command(capsys):
    code, out, err = run(capsys, "--help")
    assert (code, err) == (0, "")
    for name, (_, line) in COMMANDS.items():
        assert name in out and line.split()[0] in out


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_with_an_example(capsys, name):
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert f"Example: prml {name}" in " ".join(out.split())


def test_help_imports_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "jinja2", "matplotlib", "rich.table"]
    script = (
        "import sys; from prml.cli import main; main(['--help']);"
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_module_and_command_are_the_same():
    done = subprocess.run(
        [sys.executable, "-m", "prml", "--version"], capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("prml, version")


@pytest.mark.parametrize("argv", [["dmo"], ["demo", "--reprt", "x"], ["demo", "superfluous"]])
def test_wrong_usage_is_exit_2_and_one_line(capsys, argv):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert err.startswith("prml: ") and err.count("\n") == 1 and "--help" in err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("X holds NaN at\nrow 3."), 2, "prml: X holds NaN at row 3."),
        (FileNotFoundError(2, "No such file or directory", "a.arff"), 2, "prml: a.arff: no such"),
        (PermissionError(13, "Permission denied", "a.prml"), 2, "prml: a.prml: permission denied."),
        (
            OSError(28, "No space left on device", "a.prml"),
            1,
            "a.prml: no space left on device; files are as they were before.",
        ),
        (MemoryError(), 1, "prml: out of memory; files are as they were before."),
        (ZeroDivisionError("division by zero"), 1, "prml: ZeroDivisionError: division by zero"),
        (KeyboardInterrupt(), 1, "prml: interrupted; every file is as it was before or complete."),
        (click.ClickException("it broke."), 1, "prml: it broke."),
    ],
)
def test_every_failure_is_one_sentence_and_a_code(capsys, monkeypatch, error, code, sentence):
    def fail(**_):
        raise error

    monkeypatch.setattr(cli, "main", fail)
    got, out, err = run(capsys, "demo")
    assert (got, out) == (code, "")
    assert sentence in err and err.count("\n") == 1


def test_debug_switch_shows_the_traceback(capsys, monkeypatch):
    def fail(**_):
        raise ValueError("why")

    monkeypatch.setattr(cli, "main", fail)
    monkeypatch.setenv("PRML_DEBUG", "1")
    _, _, err = run(capsys, "demo")
    assert "Traceback" in err


def test_reader_that_has_enough_is_no_failure(tmp_path):
    script = (
        "import sys, click\n"
        "from prml.cli import group\n"
        "@group.cli.command('flood')\n"
        "def flood():\n"
        "    for i in range(200000): click.echo(i)\n"
        "group.LazyGroup.get_command = lambda self, ctx, name: flood\n"
        "sys.exit(group.run(['flood']))\n"
    )
    command = f"'{sys.executable}' -c \"$FLOOD\" | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        env={"FLOOD": script, "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.split() == ["0", "0"]
    assert done.stderr == ""


def test_plain_lines_in_a_pipe_and_silence_when_quiet(capsys):
    with Output().progress("Fitting", total=50) as advance:
        for _ in range(50):
            advance(note="gap .1")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Fitting 1/50  gap .1" and lines[-1] == "Fitting 50/50  gap .1"
    assert len(lines) <= 4
    quiet = Output(quiet=True)
    quiet.remark("nothing")
    with quiet.progress("Fitting", total=2) as advance:
        advance()
    assert capsys.readouterr().err == ""


def test_plain_values_are_json():
    import numpy as np

    value = {"a": np.float64("nan"), 1: np.arange(2), "c": (np.str_("x"), True, None, Output)}
    assert plain(value) == {"a": None, "1": [0, 1], "c": ["x", True, None, str(Output)]}


def test_shell_completion_knows_the_commands():
    ask = {
        **os.environ,
        "_PRML_COMPLETE": "bash_complete",
        "COMP_WORDS": "prml ev",
        "COMP_CWORD": "1",
    }
    done = subprocess.run([sys.executable, "-m", "prml"], capture_output=True, text=True, env=ask)
    assert done.stdout.strip() == "plain,evaluate", done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "prml"],
        capture_output=True,
        text=True,
        env={**os.environ, "_PRML_COMPLETE": "bash_source"},
    )
    assert "complete" in done.stdout

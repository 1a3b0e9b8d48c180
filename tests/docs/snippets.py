"""What is here: the snippets of a page - Python with prompts and without, commands - and a runner.

A page is one session: its snippets share their names and run in order, in a folder of their own.
"""

import doctest
import re
import shlex
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Commands that make or leave an environment; the test of the wheel runs them for real.
NOT_RUN = ("pip ", "python -m venv", "python -m pip", ". ", "make ", "git ", "cd ")


def pages() -> list[Path]:
    """The pages a user reads: the README and every hand-written page of the documentation."""
    docs = ROOT / "docs"
    skipped = ("generated", "gallery", "_build", "_static", "_templates", "command_line", "sg_")
    found = [
        path
        for path in sorted([*docs.rglob("*.rst"), *docs.rglob("*.md")])
        if not any(part.startswith(skipped) for part in path.relative_to(docs).parts)
    ]
    return [ROOT / "README.md", *found]


def fenced(text: str, language: str) -> list[str]:
    """The bodies of code blocks of one language, in Markdown or reStructuredText."""
    bodies = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)
    for block in re.findall(
        rf"^\.\. code-block:: {language}\n((?:[ \t]*\n|[ \t]+\S.*\n)+)", text, flags=re.M
    ):
        bodies.append("\n".join(line[3:] for line in block.strip("\n").split("\n")))
    return bodies


def commands(text: str) -> list[str]:
    """The commands of console blocks, those after a dollar sign.

    Generated parts are left out: another test compares all that their commands print.
    """
    text = re.sub(r"<!-- begin: .*?<!-- end: ", "", text, flags=re.S)
    lines = [line for body in fenced(text, "console") for line in body.splitlines()]
    return [line[2:].strip() for line in lines if line.startswith("$ ")]


def run_page(path: Path, folder: Path) -> int:
    """Run all snippets of a page in `folder`; return how many, fail with what differs."""
    text = path.read_text("utf-8")
    names = {"__name__": "__main__"}
    with chdir(folder):
        count = _run_prompts(text, path, names)
        for body in fenced(text, "python"):
            if ">>>" not in body:
                exec(compile(body, path.name, "exec"), names)
                count += 1
        for command in commands(text):
            count += _run_command(command)
    return count


def _run_prompts(text: str, path: Path, names: dict) -> int:
    examples = doctest.DocTestParser().get_doctest(text, names, path.name, str(path), 0)
    if not examples.examples:
        return 0
    told = StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    failed = runner.run(examples, out=told.write, clear_globs=False).failed
    assert failed == 0, told.getvalue()
    names |= examples.globs
    return len(examples.examples)


def _run_command(command: str) -> int:
    """Run one `prml ...` in this process; a pipe or another program is left to its page's test."""
    from prml.cli import main

    command = command.split("  #")[0].strip()
    if command.startswith(NOT_RUN):
        return 0
    words = shlex.split(command)
    assert words[0] == "prml", f"a snippet calls {words[0]!r}; expected prml"
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words[1:])
    assert code == 0, f"{command}: {err.getvalue()}"
    return 1

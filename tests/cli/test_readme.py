"""What is here: the README speaks the truth - its Python runs, its figures are the demo's."""

import json
import re
from pathlib import Path

import pytest

from prml.cli import main
from prml.metrics import METRICS

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture(scope="module")
def readme():
    if not README.exists():
        pytest.skip("README.md is not part of this installation")
    return README.read_text("utf-8")


def test_python_lines_run(readme):
    (code,) = re.findall(r"```python\n(.*?)```", readme, flags=re.S)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})


def test_figures_are_those_of_the_demo(readme, capsys):
    assert main(["demo", "--json", "--quiet", "--no-report"]) == 0
    for name, value in json.loads(capsys.readouterr().out)["scores"].items():
        (row,) = re.findall(rf"^ {METRICS[name].title} +(.*)$", readme, flags=re.M)
        assert f"{value:.3f}" in row


def test_pictures_and_files_exist(readme):
    named = re.findall(r"\]\(([^)]+)\)", readme) + re.findall(r"`(\w+\.(?:md|cff))`", readme)
    assert named
    for name in named:
        assert (README.parent / name).is_file(), name

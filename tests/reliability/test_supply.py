"""What is here: what prml depends on - a tested lower bound each, and a licence that lets it be."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from scripts.oldest_requirements import oldest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RUN_TIME = ("cli", "plot", "report", "parquet", "onnx", "distributed")
PERMISSIVE = re.compile(r"BSD|MIT|Apache|Python Software Foundation|PSF|ISC|MPL-2.0|Mozilla", re.I)


def requirements(*extras):
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"].get(extra, [])
    return [line for line in lines if not line.startswith("prml")]


def test_every_requirement_has_a_lower_bound():
    lines = requirements(*PROJECT["optional-dependencies"])
    assert lines
    for line in lines:
        assert re.match(r"[\w.-]+(\[[^]]*\])?\s*>=\s*\d", line), line
    assert "numpy==1.26" in oldest(PROJECT)


@pytest.mark.parametrize("line", requirements(*RUN_TIME))
def test_licences_are_permissive(line):
    name = re.match(r"[\w.-]+", line)[0]
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    words = [told.get("License-Expression") or "", (told.get("License") or "")[:200]]
    words += [c for c in told.get_all("Classifier") or [] if c.startswith("License")]
    assert PERMISSIVE.search(" ".join(words)), (name, words)


def test_the_licence_notes_name_every_requirement():
    notes = (ROOT / "docs" / "reliability.md").read_text("utf-8").lower()
    for line in requirements(*RUN_TIME):
        name = re.match(r"[\w.-]+", line)[0].lower()
        assert f"| {name} |" in notes, name

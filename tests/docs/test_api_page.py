"""What is here: the reference lists every public name, and each has an example that runs."""

import inspect
import re
from importlib import import_module

import pytest
from tests.docs.snippets import ROOT

PACKAGES = (
    "prml",
    "prml.baselines",
    "prml.bench",
    "prml.datasets",
    "prml.distributed",
    "prml.estimators",
    "prml.export",
    "prml.metrics",
    "prml.model_selection",
    "prml.persistence",
    "prml.report",
)
PAGES = [ROOT / "docs" / name for name in ("api.rst", "distributed.rst")]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_listed_and_shown(package):
    page = "\n".join(path.read_text("utf-8") for path in PAGES)
    listed = set(re.findall(r"^   (\w+)$", page, flags=re.M)) | set(re.findall(r"``(\w+)``", page))
    shown = set(re.findall(r"\w+", " ".join(re.findall(r"^(?:>>>|\.\.\.).*$", page, flags=re.M))))
    module = import_module(package)
    for name in module.__all__:
        assert name in listed, f"{package}.{name} is not in docs/api.rst"
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            has_example = ">>> " in (inspect.getdoc(thing) or "")
            assert has_example or name in shown, f"{package}.{name} has no example"


def test_every_listed_name_exists():
    module = None
    for line in PAGES[0].read_text("utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = import_module(line.split(":: ")[1])
        elif re.fullmatch(r"   \w+", line):
            assert hasattr(module, line.strip()), f"{module}: {line.strip()}"

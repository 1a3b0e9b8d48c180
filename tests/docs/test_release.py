"""What is here: the wheel in an empty environment - works alone, names the extras it misses."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.docs.snippets import ROOT, commands

import prml

ALONE = """
import json, sys, tempfile
from pathlib import Path
import numpy as np
import prml
from prml import PrBR, load_model, save_model
from prml.datasets import load_debtags
data = load_debtags()
model = PrBR(loss="squared_hinge", tol=0.05).fit(data.X[:600], data.Y[:600])
with tempfile.TemporaryDirectory() as folder:
    again = load_model(save_model(model, Path(folder) / "model.prml"))
same = bool((again.predict(data.X[600:900]) == model.predict(data.X[600:900])).all())
told = {}
def ask(extra, call):
    try:
        call()
    except Exception as error:
        told[extra] = f"{type(error).__name__}: {error}"
def ask_dask():
    from prml.distributed import fit_dask
    fit_dask(model, data.X, data.Y)
from prml.export import to_onnx
from prml.report import write_model_report
ask("report", lambda: write_model_report("page.html", model, data.X[600:700], data.Y[600:700]))
ask("onnx", lambda: to_onnx(model))
ask("distributed", ask_dask)
heavy = [n for n in ("matplotlib", "pandas", "dask", "jinja2", "click") if n in sys.modules]
print(json.dumps({"version": prml.__version__, "home": prml.__file__, "same": same,
                  "told": told, "heavy": heavy}))
"""


def test_the_version_stands_in_one_place():
    text = (ROOT / "src" / "prml" / "__init__.py").read_text("utf-8")
    (written,) = re.findall(r'^__version__ = "(.+)"$', text, flags=re.M)
    assert written == prml.__version__ == version("prml")
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    assert 'dynamic = ["version"]' in settings and written not in settings
    assert written not in (ROOT / "CITATION.cff").read_text("utf-8").replace("cff-version", "")


def test_start_page_needs_five_commands():
    steps = commands((ROOT / "docs" / "index.rst").read_text("utf-8"))
    assert len(steps) <= 5 and steps[-1].startswith("prml predict")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A virtual environment with the wheel and what it requires, without extras."""
    folder = tmp_path_factory.mktemp("release")
    _run([sys.executable, "-m", "build", "--no-isolation", "--wheel", "-o", str(folder), str(ROOT)])
    (wheel,) = folder.glob("*.whl")
    _run([sys.executable, "-m", "venv", str(folder / "env")])
    python = folder / "env" / "bin" / "python"
    _run([str(python), "-m", "pip", "install", "--quiet", str(wheel)])
    return python, wheel


def _run(command, **options):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.long
def test_wheel_works_alone_and_names_missing_extras(environment, tmp_path):
    python, _ = environment
    told = json.loads(_run([str(python), "-c", ALONE], cwd=tmp_path).splitlines()[-1])
    assert told["same"] and told["heavy"] == []
    assert told["version"] == prml.__version__
    assert Path(told["home"]).is_relative_to(python.parents[1])
    assert set(told["told"]) >= {"report", "onnx", "distributed"}
    for extra, sentence in told["told"].items():
        assert "\n" not in sentence and "pip install" in sentence and f"prml[{extra}]" in sentence
    done = subprocess.run([str(python), "-m", "prml"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'prml[cli,report]'" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.long
def test_start_page_leads_a_stranger_to_tags(environment, tmp_path):
    """The commands of the start page, with the wheel in the place of the checkout."""
    _, wheel = environment
    steps = commands((ROOT / "docs" / "index.rst").read_text("utf-8"))
    script = "set -e\n" + "\n".join(steps).replace("'.[cli,report]'", f"'{wheel}[cli,report]'")
    out = _run(
        ["bash", "-c", script.replace("python -m venv", f"{sys.executable} -m venv")], cwd=tmp_path
    )
    assert "sound::player" in out.splitlines()[-1]
    demo = ". env/bin/activate && prml demo --json --quiet && python -m prml --version"
    lines = _run(["bash", "-c", demo], cwd=tmp_path).splitlines()
    assert json.loads(lines[0])["report"] == "demo-report.html"
    assert (tmp_path / "demo-report.html").stat().st_size > 5000
    assert lines[1] == f"prml, version {prml.__version__}"

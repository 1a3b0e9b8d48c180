# Every target makes .venv and installs what it needs; stamp files keep a second call from installing again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet

CHECKED := src tests scripts benchmarks examples docs/conf.py

.PHONY: demo test test-nojit test-long test-oldest test-newest audit lint format bench bench-smoke docs links readme walk build clean

demo: $(VENV)/.stamp-demo
	$(BIN)/prml demo

test: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -n auto --dist loadfile

# The loops once more as plain Python: coverage sees them, and a numba bug cannot hide behind numba.
test-nojit: $(VENV)/.stamp-dev
	PRML_DISABLE_JIT=1 $(BIN)/python -m pytest tests/loops tests/privileged tests/solvers

# Minutes each: real data, kills, thousands of generated cases, file readers.
test-long: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -m "long or nightly"

# The whole suite with the lower bounds of pyproject.toml, and with the newest of everything; numba
# keeps the compiled loops of each apart.
test-oldest:
	$(PYTHON) -m venv --clear build/oldest
	$(PYTHON) scripts/oldest_requirements.py > build/oldest/pins.txt
	build/oldest/bin/python -m pip install --quiet -c build/oldest/pins.txt -e '.[dev]'
	NUMBA_CACHE_DIR=build/oldest/loops build/oldest/bin/python -m pytest -p no:cacheprovider

test-newest:
	$(PYTHON) -m venv --clear build/newest
	build/newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager -e '.[dev]'
	NUMBA_CACHE_DIR=build/newest/loops build/newest/bin/python -m pytest -p no:cacheprovider

# Known vulnerabilities of what is installed; asks a public database.
audit: $(VENV)/.stamp-dev
	$(PYTHON) -m venv --clear build/audit
	build/audit/bin/python -m pip install --quiet pip-audit
	$(BIN)/python -m pip freeze --exclude-editable > build/audit/installed.txt
	build/audit/bin/pip-audit --strict --no-deps --disable-pip -r build/audit/installed.txt

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/mypy --check-untyped-defs examples

format: $(VENV)/.stamp-dev
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

bench: $(VENV)/.stamp-dev
	$(BIN)/python -m benchmarks

# All methods on two small datasets, two trials: the whole path from data to report in minutes.
bench-smoke: $(VENV)/.stamp-dev
	rm -rf build/bench-smoke
	$(BIN)/prml bench paper -d emotions -d flags --trials 2 --quick --results build/bench-smoke/paper.jsonl
	$(BIN)/prml bench report --quick --results build/bench-smoke/paper.jsonl

docs: $(VENV)/.stamp-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# Links to other pages and to the world; the latter need a network.
links: $(VENV)/.stamp-docs
	$(BIN)/python -m sphinx -W --keep-going -b linkcheck docs docs/_build/links

# What is generated from real runs: the README's parts and picture, the walk through the commands.
readme: $(VENV)/.stamp-dev
	$(BIN)/python -m scripts.refresh_readme --picture

walk: $(VENV)/.stamp-dev
	$(BIN)/python -m scripts.walk_commands docs/command_line.rst

build: $(VENV)/.stamp-dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-demo: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[cli,report]'
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	@touch $@

$(VENV)/.stamp-docs: pyproject.toml | $(VENV)/bin/python
	$(PIP) -e '.[dev,docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist docs/_build docs/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache demo-report.html

"""What is here: every input that once did harm to a reader, and a short hunt for new ones.

A file of the corpus is named by its target; `scripts/fuzz_readers.py` finds more of them.
"""

import random
from pathlib import Path

import pytest
from scripts.fuzz_readers import mutated
from tests.fuzz.targets import TARGETS, run

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_what_once_did_harm(path, tmp_path):
    run(path.name.rpartition("-")[0], path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name, tmp_path):
    for make in TARGETS[name][1]:
        assert run(name, make(), tmp_path) is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_a_short_hunt(name, tmp_path):
    rng = random.Random(0)
    seeds = [make() for make in TARGETS[name][1]]
    for _ in range(20 if "checkpoint" in name else 60):
        run(name, mutated(rng.choice(seeds), rng), tmp_path)

"""What is here: the results file under crashes, torn lines and two writers."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prml.bench.results_file import Key, ResultsFile, key_of

RUN = Path(__file__).with_name("slow_run.py")
CHECKOUT = Path(__file__).resolve().parents[2]


def cell(trial, **others):
    return {"dataset": "d", "method": "m", "trial": trial, "setup": "full", "code": "a"} | others


def start_run(path, pause):
    return subprocess.Popen([sys.executable, str(RUN), str(path), str(pause)], cwd=CHECKOUT)


def keys_in(path):
    return [key_of(json.loads(line)) for line in path.read_text().splitlines() if line]


def test_append_and_read(tmp_path):
    results = ResultsFile(tmp_path / "new folder" / "r.jsonl")
    assert results.read() == []
    for trial in range(3):
        results.append(cell(trial))
    assert [record["trial"] for record in ResultsFile(results.path).read()] == [0, 1, 2]


@pytest.mark.parametrize(
    "torn", [b'{"dataset": "d", "meth', b"{", b"\xff\xfe", b"[1]", b'{"a": 1}']
)
def test_torn_line_is_closed_skipped_and_counted(tmp_path, torn):
    results = ResultsFile(tmp_path / "r.jsonl")
    results.append(cell(0))
    with open(results.path, "ab") as out:
        out.write(torn)
    results.append(cell(1))
    assert [record["trial"] for record in results.read()] == [0, 1]
    assert results.n_unreadable == 1


def test_same_cell_and_code_counts_once_other_code_is_kept(tmp_path):
    results = ResultsFile(tmp_path / "r.jsonl")
    for record in (cell(0, x=1), cell(0, x=2), cell(0, x=3, code="b")):
        results.append(record)
    assert [(record["code"], record["x"]) for record in results.read()] == [("a", 2), ("b", 3)]


def test_claim_is_exclusive_between_processes_and_dies_with_its_process(tmp_path):
    path = tmp_path / "r.jsonl"
    key = Key("d", "m", 0, "full")
    code = (
        "import sys, time; from prml.bench.results_file import *\n"
        "with ResultsFile(sys.argv[1]).claim(Key('d', 'm', 0, 'full')) as got:\n"
        "    print(got, flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout.readline().strip() == "True"
        results = ResultsFile(path)
        with results.claim(key) as got:
            assert not got
        with results.claim(key._replace(trial=1)) as got:
            assert got
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    with results.claim(key) as got:
        assert got


def test_kill_in_the_middle_loses_and_doubles_nothing(tmp_path):
    path = tmp_path / "r.jsonl"
    wait = random.Random(0)
    for _ in range(2):
        run = start_run(path, 0.15)
        before = len(keys_in(path)) if path.exists() else 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and run.poll() is None:
            if path.exists() and len(keys_in(path)) > before + 1:
                break
            time.sleep(0.02)
        time.sleep(wait.uniform(0.0, 0.15))
        os.kill(run.pid, signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL
    done_before = path.read_bytes()
    assert start_run(path, 0.0).wait() == 0
    keys = keys_in(path)
    assert len(keys) == len(set(keys)) == 16
    assert path.read_bytes().startswith(done_before)


def test_two_runs_share_the_work(tmp_path):
    path = tmp_path / "r.jsonl"
    runs = [start_run(path, 0.05) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    keys = keys_in(path)
    assert len(keys) == len(set(keys)) == 16

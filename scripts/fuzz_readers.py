"""What is here: hours of damaged files for every reader; what does harm is kept in a folder.

    nice -n 15 python scripts/fuzz_readers.py --minutes 35 --found found --json fuzz.json

Each target of tests/fuzz/targets.py gets an equal share of the time, in a process of its own with
bounded memory. With atheris installed the bytes are guided by coverage, else they are mutated at
random. An input that ends in anything but data or a clear sentence, takes longer than ten seconds
or kills the process is kept, one for each place in the code; tests/fuzz/corpus holds those of the
past, and the tests read them again.
"""

import argparse
import hashlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
MEMORY = 6 << 30
SECONDS_AN_INPUT = 10
LONGEST_INPUT = 16384
READERS = ["prml.datasets", "prml.cli", "prml.persistence", "prml.bench.results_file"]
PIECES = [b"\n", b",", b"{", b"}", b"'", b'"', b"?", b":", b"\\", b"\x00", b"-1", b"9" * 20, b"nan"]
PIECES += [b"1e999", b"null", b"[]", b"\xff\xfe", b"\t", b" ", b"[" * 2000, b"\x7f\xff\xff\xff"]


class TooSlow(BaseException):
    """An input took longer than it may."""


class Hunt:
    """Run a target on input after input and keep what does harm."""

    def __init__(self, name: str, found: Path, scratch: Path):
        from tests.fuzz import targets

        self.name, self.found, self.scratch, self._run = name, found, scratch, targets.run
        self.seeds = [make() for make in targets.TARGETS[name][1]]
        self.places: set[str] = set()
        self.runs = self.read = 0
        signal.signal(signal.SIGALRM, self._too_slow)

    def _too_slow(self, *_: object) -> None:
        raise TooSlow(f"longer than {SECONDS_AN_INPUT} seconds")

    def __call__(self, content: bytes) -> bool:
        """Run the target once; True when the reader gave data."""
        self.runs += 1
        last = self.scratch / f"last-{self.name}"
        last.write_bytes(content)  # in case the process dies
        signal.alarm(SECONDS_AN_INPUT)
        try:
            gave_data = self._run(self.name, content, self.scratch) is None
            self.read += gave_data
            return gave_data
        except (Exception, TooSlow) as error:
            self._keep(content, error)
            return False
        finally:
            signal.alarm(0)

    def _keep(self, content: bytes, error: BaseException) -> None:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "prml" in f.filename]
        at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        place = f"{type(error).__name__} at {at}"
        if place in self.places:
            return
        self.places.add(place)
        keep(self.found, self.name, content, f"{place}: {error}")


def keep(found: Path, name: str, content: bytes, reason: str) -> None:
    """Write an input that does harm, and why it does, to the folder of what was found."""
    found.mkdir(parents=True, exist_ok=True)
    file = found / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"
    file.write_bytes(content)
    with (found / "reasons.txt").open("a") as out:
        print(file.name, " ".join(reason.split())[:400], file=out)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Cut, repeat, overwrite and insert a few times."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(content))
        stop = min(len(content), start + rng.choice([0, 1, 2, 8, 100]))
        piece = rng.choice(
            [rng.randbytes(rng.randint(0, 4)), rng.choice(PIECES), content[start:stop]]
        )
        content = content[:start] + piece + content[rng.choice([start, stop]) :]
    return content[:LONGEST_INPUT]


def hunt(name: str, seconds: float, found: Path) -> None:
    """Run one target in this process: half of the time at random, half guided if that is possible.

    The last line printed is the summary.
    """
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    scratch = Path(os.environ["FUZZ_SCRATCH"])
    try:
        import atheris
    except ImportError:
        atheris = None
    if name.startswith("checkpoint"):  # they fit, and numba cannot compile what is instrumented
        atheris = None
    if atheris is None:
        hunting = Hunt(name, found, scratch)
    else:
        with atheris.instrument_imports(include=READERS):
            hunting = Hunt(name, found, scratch)
    rng, end = random.Random(time.time_ns()), time.monotonic() + seconds / (2 if atheris else 1)
    pool = list(hunting.seeds)
    while time.monotonic() < end:
        content = mutated(rng.choice(pool), rng)
        if hunting(content) and len(pool) < 1000:  # still readable: a place to start from
            pool.append(content)
    print(json.dumps({"runs": hunting.runs, "read": hunting.read}), flush=True)
    if atheris is None:
        return

    corpus = scratch / f"corpus-{name}"
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(hunting.seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    told = [0.0]

    def one_input(content: bytes) -> None:
        hunting(content)
        if time.monotonic() - told[0] > 1:  # libFuzzer leaves without a goodbye
            told[0] = time.monotonic()
            print(json.dumps({"runs": hunting.runs, "read": hunting.read}), flush=True)

    limits = [f"-max_total_time={max(1, int(seconds / 2))}", f"-max_len={LONGEST_INPUT}"]
    limits += ["-len_control=0", "-verbosity=0", "-rss_limit_mb=0", "-timeout=0"]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], one_input)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=35.0, help="in total")
    parser.add_argument("--only", action="append", help="a target; may be repeated")
    parser.add_argument("--found", type=Path, default=Path("found"))
    parser.add_argument("--json", type=Path, default=Path("fuzz.json"))
    parser.add_argument("--hunt", help=argparse.SUPPRESS)  # what the child processes do
    options = parser.parse_args()
    if options.hunt:  # before anything of prml is imported: the imports are instrumented
        hunt(options.hunt, options.minutes * 60, options.found)
        return 0
    from tests.fuzz.targets import TARGETS

    names = options.only or list(TARGETS)
    seconds = options.minutes * 60 / len(names)

    start, summary = time.monotonic(), {}
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, __file__, "--hunt", name, "--minutes", str(seconds / 60)]
            done = subprocess.run(
                [*command, "--found", str(options.found)],
                env={**os.environ, "FUZZ_SCRATCH": scratch},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds + 300,
            )
            told = re.findall(r"^\{.*\}$", done.stdout, re.MULTILINE)
            summary[name] = json.loads(told[-1]) if told else {"runs": 0, "read": 0}
            if done.returncode != 0:
                last = Path(scratch) / f"last-{name}"
                content = last.read_bytes() if last.exists() else b""
                keep(options.found, name, content, f"exit {done.returncode}: {done.stderr[-300:]}")
        summary[name]["exit"] = done.returncode
        print(name, summary[name], flush=True)
    reasons = options.found / "reasons.txt"
    found = reasons.read_text().splitlines() if reasons.exists() else []
    total = {"minutes": round((time.monotonic() - start) / 60, 1), "found": found}
    total["runs"] = sum(held["runs"] for held in summary.values())
    options.json.write_text(json.dumps({**total, "targets": summary}, indent=1))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

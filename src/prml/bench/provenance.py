"""What is here: what a result was made with - code, versions, machine - and its peak memory."""

import hashlib
import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import prml

# What decides every figure. The command line, the reports and the formats of files do not.
COMMON = (
    "base.py", "bench/protocol.py", "bench/search.py", "metrics",
    "model_selection/split_loops.py", "model_selection/splits.py", "targets.py",
)  # fmt: skip
BASELINES = ("baselines", "bench/yardsticks.py", "loops/jit.py", "loops/rows.py")
FAMILY = (
    "bench/stopped.py", "estimators", "kernels.py", "loops", "model_selection", "privileged",
    "solvers",
)  # fmt: skip
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


@cache
def code_version(parts: tuple[str, ...] = FAMILY, entry: str = "") -> str:
    """A short digest of the sources that decide a figure: other edits do not change it.

    Parameters
    ----------
    parts : tuple of str
        Files and folders of the package that the method is made of, besides the common ones.
    entry : str
        What the table of methods says of it.
    """
    root = Path(prml.__file__).parent
    digest = hashlib.sha256(entry.encode())
    for name in (*COMMON, *parts):
        path = root / name
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            digest.update(file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()[:10]


@cache
def release() -> str:
    """The package version, with the commit when it runs from a checkout."""
    checkout = Path(prml.__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return prml.__version__
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), "rev-parse", "--short=10", "HEAD"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return prml.__version__
    return f"{prml.__version__}+{done.stdout.strip()}"


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the figures depend on."""
    found = {"prml": release(), "python": platform.python_version()}
    for name in PACKAGES:
        found[name] = metadata.version(name)
    return found


@cache
def machine() -> str:
    """Processor, number of cores, memory and operating system, in one line."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        processor = names[0] if names else processor
    except OSError:
        pass
    parts = [processor, f"{os.cpu_count()} cores"]
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        parts.append(f"{total / 2**30:.0f} GB")
    except (AttributeError, ValueError, OSError):
        pass
    return ", ".join([*parts, f"{platform.system()} {platform.machine()}"])


def restart_peak_memory() -> bool:
    """Let `peak_memory` count from now; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_memory() -> float | None:
    """The largest resident size since `restart_peak_memory`, in MB; None where unknown."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    except OSError:
        pass
    return None

"""What is here: what the figures were measured on."""

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

from threadpoolctl import threadpool_info

import prml


def describe() -> dict[str, object]:
    """Processor, memory, system and the versions that matter; no name of the machine."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "prml": prml.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")},
        "blas": sorted({str(lib["internal_api"]) for lib in threadpool_info()}),
    }


def _processor() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or "unknown"


def _memory() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None

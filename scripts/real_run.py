"""What is here: a command of this environment, run for a page that shows what it prints."""

import subprocess
import sys
from pathlib import Path


def run(command: str, folder: str, columns: int = 80) -> list[str]:
    """Run a command in a shell; return its remarks and then its output, line by line.

    A failure is part of what pages show; a traceback is not.
    """
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(Path.home()),
            "COLUMNS": str(columns),
            "LC_ALL": "C.UTF-8",
            "OPENBLAS_NUM_THREADS": "1",  # seconds that depend less on what else runs
        },
    )
    if "Traceback" in done.stderr:
        raise RuntimeError(f"{command} failed:\n{done.stderr}")
    return [line.rstrip() for line in (done.stderr + done.stdout).rstrip().splitlines()]

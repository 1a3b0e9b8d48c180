"""What is here: the entry point of the command `prml`; the commands have a file each."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 the work failed, 2 wrong usage."""
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError as missing:
        remedy = "pip install 'prml[cli,report]' brings it"
        print(f"prml: the command line needs {missing.name}; {remedy}.", file=sys.stderr)
        return 1
    from prml.cli.group import run

    return run(sys.argv[1:] if argv is None else list(argv))

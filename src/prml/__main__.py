"""What is here: `python -m prml`, the same as the command `prml`."""

import sys

from prml.cli import main

if __name__ == "__main__":
    sys.exit(main())

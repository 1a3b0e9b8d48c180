"""What is here: a process that saves two models over each other without end, to be killed."""

import sys
from pathlib import Path

from prml import load_model, save_model


def main(folder: str) -> None:
    models = [load_model(Path(folder) / name) for name in ("one.prml", "two.prml")]
    print("ready", flush=True)
    while True:
        for model in models:
            save_model(model, Path(folder) / "model.prml")


if __name__ == "__main__":
    main(sys.argv[1])

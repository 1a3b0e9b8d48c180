"""What is here: the lower bounds of pyproject.toml as pins, for a run of the tests with them.

    python scripts/oldest_requirements.py > oldest.txt
    pip install -c oldest.txt -e '.[dev]'

`make test-oldest` does both in an environment of its own.
"""

import re
import tomllib
from pathlib import Path

# Tools that look at the code, draw its tests or lay out its pages: nothing of them runs in prml.
NOT_RUN = {"ruff", "mypy", "sphinx", "sphinx-gallery", "numpydoc", "pydata-sphinx-theme", "prml"}
NOT_RUN |= {"hypothesis", "myst-parser", "sphinx-copybutton", "build", "hatchling", "vulture"}
# What the oldest of ours need to be old, too: matplotlib 3.8 calls what pyparsing 3.3 warns of.
COMPANIONS = ["pyparsing<3.3"]


def oldest(project: dict) -> list[str]:
    """Return NAME==VERSION for every requirement with a lower bound.

    Examples
    --------
    >>> oldest({"dependencies": ["numpy>=1.26"], "optional-dependencies": {"a": ["rich>=13.0"]}})
    ['numpy==1.26', 'rich==13.0']
    """
    extras = project.get("optional-dependencies", {})
    wanted = [*project["dependencies"], *(line for extra in extras.values() for line in extra)]
    pins = {}
    for line in wanted:
        found = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*>=\s*([\w.]+)", line)
        if found and found[1] not in NOT_RUN:
            pins[found[1]] = found[2]
    return [f"{name}=={version}" for name, version in pins.items()]


if __name__ == "__main__":
    content = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    print("\n".join([*oldest(tomllib.loads(content)["project"]), *COMPANIONS]))

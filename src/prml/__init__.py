"""Multi-label learning with privileged information.

What is here: the public names, imported only when first used, so that `import prml` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what a type checker sees of the names below
    from prml.estimators import PrBR, PrML, PrMLCV, TeacherTransfer
    from prml.persistence import load_model, save_model

__all__ = ["PrBR", "PrML", "PrMLCV", "TeacherTransfer", "load_model", "save_model"]
__version__ = "0.1.0"

_HOME = {
    "PrBR": "prml.estimators",
    "PrML": "prml.estimators",
    "PrMLCV": "prml.estimators",
    "TeacherTransfer": "prml.estimators",
    "save_model": "prml.persistence",
    "load_model": "prml.persistence",
}


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'prml' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])

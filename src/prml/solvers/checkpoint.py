"""What is here: a long fit kept in a file while it runs, so that it survives a crash.

The file is an archive of `prml.persistence`: arrays and a header with their SHA-256, no code. It is
replaced atomically, so at every moment it holds a whole state; a fit that finds it goes on from
there, bit for bit as if it had never stopped.
"""

import errno
import hashlib
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from prml.datasets.text_input import reason_of
from prml.persistence.archive import DAMAGE, FORMAT, ArchiveReader, write_archive
from prml.persistence.tree import Decoder, Encoder
from prml.solvers.spectral import Factors
from prml.solvers.training_set import Hyperparameters, TrainingSet

if TYPE_CHECKING:
    from prml.solvers.coupling import Coupling, LowRankSolution

CHECKPOINT_FORMAT = 3  # 2 had one switch for the effort of the turns, 1 no offset of the teachers
SECONDS_BETWEEN_WRITES = 5.0
LARGEST_SHARE = 0.05  # of the time may go into writing
SECONDS_AFTER_FAILURE = 60.0  # before the next try
ABANDONED_AFTER = 60.0  # seconds without a write: the draft of a process that was killed
_PCG64_WORDS = 6
_HALF = (1 << 64) - 1


class Checkpoint:
    """The state of a low-rank fit in a file.

    Parameters
    ----------
    path : str or Path
    training_set : TrainingSet
    numbers : Hyperparameters
    gamma1 : float
        With the two before, what the file must have been written for.
    every : float
        Seconds between two writes. Large states are written more rarely: writing takes at most a
        twentieth of the time.
    """

    def __init__(
        self,
        path: str | Path,
        training_set: TrainingSet,
        numbers: Hyperparameters,
        gamma1: float,
        *,
        every: float = SECONDS_BETWEEN_WRITES,
    ):
        self.path = Path(path)
        if self.path.is_dir():
            raise ValueError(f"checkpoint is {str(path)!r}, a folder; expected the name of a file.")
        self.every = every
        self._numbers = {**numbers._asdict(), "gamma1": float(gamma1)}
        self._data = data_fingerprint(training_set)
        self._due = time.monotonic() + every

    def restore(self, rounds: "Coupling", best: "LowRankSolution") -> "LowRankSolution":
        """Bring `rounds` to the state of the file and return its best solution.

        Without a file nothing changes and `best` is returned. A file that is damaged, of other data
        or parameters, or of a newer prml is refused with a ValueError.
        """
        self._remove_abandoned_drafts()
        if not self.path.exists():
            return best
        try:
            with ArchiveReader(self.path) as reader:
                self._check_header(reader.header)
                kept = Decoder(reader.array).decode(reader.header["state"])
            _check_sizes(rounds, kept)
            return _fill(rounds, best, kept)
        except _Refused as refusal:
            reason = reason_of(refusal)
        except OSError as error:
            if error.errno != errno.EINVAL:  # a spoiled directory sends zipfile before the start
                raise
            reason = "its directory is damaged"
        except DAMAGE as error:
            reason = reason_of(error)
        raise ValueError(
            f"{self.path} cannot be resumed from: {reason}; delete the file to start over, or name "
            "another as checkpoint."
        )

    def save(self, rounds: "Coupling", best: "LowRankSolution") -> None:
        """Write the state, unless the last write was too short ago."""
        if time.monotonic() >= self._due:
            self._try_to_write(rounds, best)

    def close(self, rounds: "Coupling", best: "LowRankSolution", *, solved: bool) -> None:
        """End of the fit: remove the file of a solved problem, write that of an unsolved one.

        So the same file serves one fit after another, and a fit that ran into its time limit goes
        on when it is called again.
        """
        if not solved:
            self._try_to_write(rounds, best)
        else:
            self.path.unlink(missing_ok=True)
        self._remove_abandoned_drafts()

    def _try_to_write(self, rounds: "Coupling", best: "LowRankSolution") -> None:
        """Write; a disk that fails must not end a fit of hours, whose model is still in memory."""
        try:
            self._write(rounds, best)
        except OSError as error:
            self._due = time.monotonic() + max(self.every, SECONDS_AFTER_FAILURE)
            warnings.warn(
                f"The checkpoint {self.path} was not written ({error.strerror or error}); the fit "
                "goes on, and the last state that was written stays.",
                RuntimeWarning,
                stacklevel=2,
            )

    def _write(self, rounds: "Coupling", best: "LowRankSolution") -> None:
        start = time.monotonic()
        encoder = Encoder()
        header = {
            "format": FORMAT,
            "checkpoint": CHECKPOINT_FORMAT,
            "data": self._data,
            "numbers": encoder.encode(self._numbers, "numbers"),
            "state": encoder.encode(_state(rounds, best), "state"),
        }
        write_archive(self.path, header, encoder.arrays)
        end = time.monotonic()
        self._due = end + max(self.every, (end - start) / LARGEST_SHARE)

    def _check_header(self, header: dict[str, Any]) -> None:
        version = header.get("checkpoint")
        if type(version) is not int:
            raise _Refused("it is no checkpoint")
        if version != CHECKPOINT_FORMAT:
            raise _Refused(
                f"it is a checkpoint of format {version}, and this version of prml reads "
                f"{CHECKPOINT_FORMAT}"
            )
        if header["data"] != self._data:
            raise _Refused(
                "it was written by a fit on other data (X, Y, weights, intercepts or teachers)"
            )
        numbers = Decoder(lambda part: np.empty(0)).decode(header["numbers"])
        for name, value in self._numbers.items():
            if numbers[name] != value:
                raise _Refused(
                    f"it was written by a fit with {name} = {numbers[name]}, and this one has "
                    f"{value}"
                )

    def _remove_abandoned_drafts(self) -> None:
        """Remove what a process killed in the middle of a write left beside the file."""
        for draft in self.path.parent.glob(f".{_literal(self.path.name)}.*.part"):
            try:
                if time.time() - draft.stat().st_mtime > ABANDONED_AFTER:
                    draft.unlink()
            except OSError:  # gone meanwhile, or not ours to remove
                continue


class _Refused(Exception):
    """A checkpoint that is whole and does not belong to this fit."""


def data_fingerprint(training_set: TrainingSet) -> str:
    """SHA-256 of everything that a training set makes the labels' problems of."""
    digest = hashlib.sha256()
    features, targets = training_set.features, training_set.targets
    pools = [np.empty(0)] if features.pools is None else list(features.pools)
    parts: list[Any] = [*training_set.X, training_set.sample_weight, training_set.class_weight]
    for labels in (targets.positives, targets.missing):
        parts += [None] if labels is None else [labels.indptr, labels.indices]
    parts += [features.bias, features.enabled, features.pools is None, *pools]
    for part in parts:
        if isinstance(part, tuple):
            part = np.array(part)
        array = np.asarray(np.nan if part is None else part)
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8) if array.size else b"")
    return digest.hexdigest()


def _state(rounds: "Coupling", best: "LowRankSolution") -> dict[str, Any]:
    """Everything that the next round depends on, and the best so far, as arrays and numbers."""
    labels = rounds.labels
    ragged = {
        name: [getattr(label, name) for label in labels]
        for name in ("alpha", "beta", "active", "u")
    }
    ragged |= {"best_wt": best.wt, "best_alpha": best.alpha, "best_beta": best.beta}
    return {
        **{name: _join(parts) for name, parts in ragged.items()},
        "s": np.array([label.s for label in labels]),
        "m_row": np.array([label.m_row for label in labels]),
        "newton_rho": np.array([label.rho for label in labels]),
        "rng": np.array([_generator_words(label.rng) for label in labels], dtype=np.uint64),
        "dual": rounds.dual,
        "factors": tuple(rounds.factors),
        "rho": rounds.rho,
        "round": rounds.round,
        "effort": rounds.effort,
        "last_gap": np.array(rounds.last_gap),
        "best_factors": tuple(best.factors),
        "best_wt0": best.wt0,
        "best_objective": best.objective,
        "best_dual_objective": best.dual_objective,
        "best_n_iter": best.n_iter,
        "best_rho": best.rho,
    }


def _check_sizes(rounds: "Coupling", kept: dict[str, Any]) -> None:
    """Compiled loops trust the sizes: compare those of the file with those of this problem."""
    expected = {
        "s": (len(rounds.labels), 3),
        "m_row": rounds.dual.shape,
        "newton_rho": (len(rounds.labels),),
        "rng": (len(rounds.labels), _PCG64_WORDS),
        "dual": rounds.dual.shape,
        "best_wt0": (len(rounds.labels),),
    }
    fits = all(kept[name].shape == shape for name, shape in expected.items())
    fits = fits and kept["effort"] in range(rounds.n_efforts)
    for name in ("alpha", "beta", "u"):
        sizes = [len(getattr(label, name)) for label in rounds.labels]
        fits = fits and kept[name][1].tolist() == sizes and len(kept[name][0]) == sum(sizes)
    positions = _split(*kept["active"])
    fits = fits and len(positions) == len(rounds.labels)
    for label, active in zip(rounds.labels, positions, strict=False):
        fits = fits and bool(((active >= 0) & (active < len(label.alpha))).all())
    if not fits:
        raise _Refused("its arrays are not of the sizes of this problem")


def _fill(rounds: "Coupling", best: "LowRankSolution", kept: dict[str, Any]) -> "LowRankSolution":
    ragged = {name: _split(*kept[name]) for name in ("alpha", "beta", "active", "u")}
    for i, label in enumerate(rounds.labels):
        for name, parts in ragged.items():
            setattr(label, name, parts[i])
        label.s, label.m_row = kept["s"][i].copy(), kept["m_row"][i].copy()
        label.rho = float(kept["newton_rho"][i])
        _set_generator(label.rng, kept["rng"][i])
    rounds.dual = kept["dual"]
    rounds.factors = Factors(*kept["factors"])
    rounds.V = rounds.factors.product()
    rounds.rho, rounds.round = kept["rho"], kept["round"]
    rounds.effort, rounds.last_gap = kept["effort"], float(kept["last_gap"])
    return best._replace(
        factors=Factors(*kept["best_factors"]),
        wt=_split(*kept["best_wt"]),
        wt0=kept["best_wt0"],
        alpha=_split(*kept["best_alpha"]),
        beta=_split(*kept["best_beta"]),
        objective=kept["best_objective"],
        dual_objective=kept["best_dual_objective"],
        n_iter=kept["best_n_iter"],
        rho=kept["best_rho"],
    )


def _join(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Arrays of different lengths as one, and the lengths."""
    return np.concatenate(parts), np.array([len(part) for part in parts], dtype=np.int64)


def _split(joined: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    # copies: a view would keep the whole alive, and numba compiles for aligned arrays of their own
    return [part.copy() for part in np.split(joined, np.cumsum(lengths)[:-1])]


def _generator_words(rng: np.random.Generator) -> list[int]:
    """The state of a PCG64 generator as six 64-bit words."""
    state: Any = rng.bit_generator.state
    words = []
    for name in ("state", "inc"):
        words += [state["state"][name] >> 64, state["state"][name] & _HALF]
    return [*words, state["has_uint32"], state["uinteger"]]


def _set_generator(rng: np.random.Generator, words: np.ndarray) -> None:
    high, low, inc_high, inc_low, has_uint32, uinteger = map(int, words)
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": inc_high << 64 | inc_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }


def _literal(name: str) -> str:
    """`name` for a glob pattern: brackets, stars and question marks stand for themselves."""
    return "".join(f"[{c}]" if c in "[*?" else c for c in name)

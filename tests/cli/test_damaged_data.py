"""What is here: spoiled data files through fit and predict - exit 0 or 2, and one sentence."""

import numpy as np
import pytest
from tests.cli.test_commands import FILES, FIT, problem
from tests.persistence.attacks import cut_out, flip, junk, overwrite, put_in, repeat, truncate

from prml.cli import main

N_FILES = 12  # of each format, way to spoil it and command: more than 1,000 together
WAYS = [flip, truncate, cut_out, put_in, overwrite, repeat, junk]


def swap_letters(content, rng):
    """Stay with letters that a data file is made of, so as to get past the first checks."""
    spoiled = bytearray(content)
    for at in rng.integers(len(content), size=3):
        spoiled[at] = int(rng.choice(list(b"0123456789,:; \t\n\"'{}?@-+.eE")))
    return bytes(spoiled)


@pytest.mark.parametrize("name", [name for name in FILES if name != "counted.csv"])
def test_spoiled_files_end_in_a_sentence(name, tmp_path, capsys):
    X, Y = problem(n=25, d=5)
    write, options = FILES[name]
    whole, model = tmp_path / f"whole.{name}", tmp_path / "m.prml"
    write(whole, X, Y)
    assert main(["fit", str(whole), *options, *FIT, "-o", str(model)]) == 0
    before = model.read_bytes()
    content = whole.read_bytes()
    spoiled, other = tmp_path / f"spoiled.{name}", tmp_path / "other.prml"
    codes = set()
    for way in [*WAYS, swap_letters]:
        for seed in range(N_FILES):
            spoiled.write_bytes(way(content, np.random.default_rng(seed)))
            fit = ["fit", str(spoiled), *options, *FIT, "-p", "max_iter=20", "-o", str(other)]
            for argv in (fit, ["predict", str(model), str(spoiled), "-q"]):
                code = main(argv)
                err = capsys.readouterr().err
                assert code in (0, 2), (way.__name__, seed, err)
                if code:
                    assert err.startswith("prml: ") and err.count("\n") == 1, (way, seed, err)
                codes.add(code)
    assert codes == {0, 2}
    assert model.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} <= {
        whole.name,
        spoiled.name,
        "m.prml",
        "other.prml",
    }

"""What is here: what `prml fit` takes when no estimator is named."""

import pytest

from prml import load_model
from prml.cli import main
from prml.datasets import dump_libsvm, load_debtags

CHOICES = [
    ([], "PrBR", "squared_hinge"),
    (["-p", "loss=logistic"], "PrBR", "logistic"),
    (["--checkpoint", "fit.ckpt", "-p", "tol=0.1"], "PrML", "hinge"),
    (["-e", "prml", "-p", "tol=0.1"], "PrML", "hinge"),
    (["-e", "PrBR", "-p", "tol=0.1"], "PrBR", "hinge"),
]


@pytest.mark.parametrize(("words", "name", "loss"), CHOICES)
def test_quick_by_default_and_low_rank_for_long_fits(tmp_path, monkeypatch, words, name, loss):
    monkeypatch.chdir(tmp_path)
    data = load_debtags()
    dump_libsvm("few.svm", data.X[:60], data.Y[:60, :4])
    assert main(["fit", "few.svm", "-o", "few.prml", "--quiet", *words]) == 0
    model = load_model("few.prml")
    assert (type(model).__name__, model.loss) == (name, loss)

"""What is here: stratified halves of real data for measurements."""

from tests.real_data import load_real

from prml.datasets import load_debtags
from prml.model_selection import multilabel_train_test_split


def halves_of(name, seed=0):
    """Return X, X_test, Y, Y_test; skip where the data are absent (no test fetches them)."""
    data = load_debtags() if name == "debtags" else load_real(name)
    return multilabel_train_test_split(data.X, data.Y, test_size=0.5, random_state=seed)

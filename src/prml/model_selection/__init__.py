"""What is here: splits, thresholds and probabilities for multi-label data."""

from prml.model_selection.splits import MultilabelStratifiedKFold, multilabel_train_test_split

__all__ = ["MultilabelStratifiedKFold", "multilabel_train_test_split"]

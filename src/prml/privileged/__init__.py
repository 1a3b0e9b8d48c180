"""What is here: the privileged label features, as a value of their own."""

from prml.privileged.features import LabelFeatures, Teacher
from prml.privileged.pools import nearest_labels, read_pools

__all__ = ["LabelFeatures", "Teacher", "nearest_labels", "read_pools"]

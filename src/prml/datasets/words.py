"""What is here: the words that old data files write for 0 and 1."""

POSITIVE_WORDS = frozenset({"1", "1.0", "true", "yes", "y", "t"})
NEGATIVE_WORDS = frozenset({"0", "0.0", "false", "no", "n", "f"})


def number_of_word(word: str) -> float | None:
    """Return the number a word stands for; None when it stands for none.

    Examples
    --------
    >>> from prml.datasets.words import number_of_word
    >>> number_of_word("YES"), number_of_word("0.5"), number_of_word("P22011")
    (1.0, 0.5, None)
    """
    plain = word.strip().lower()
    if plain in POSITIVE_WORDS:
        return 1.0
    if plain in NEGATIVE_WORDS:
        return 0.0
    try:
        return float(plain)
    except ValueError:
        return None

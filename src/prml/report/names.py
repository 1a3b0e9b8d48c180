"""What is here: names from data, made fit for a page."""

LONGEST = 120


def clean(name: object, longest: int = LONGEST) -> str:
    """Return text in which nothing is invisible, reversed or too long to show.

    Escaping for HTML is the template's work; here go control characters, lone surrogates and marks
    that turn the direction of writing, each shown by its code.

    Examples
    --------
    >>> from prml.report.names import clean
    >>> clean("tab\\there"), clean("x" * 200, 5)
    ('tab\\\\x09here', 'xxxx…')
    """
    text = str(name)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _code(c) for c in text)


def _code(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"

"""What is here: the header of an ARFF file, and the quoting that header and data share."""

import re
from dataclasses import dataclass

from prml.datasets.text_input import LineReader, shown

_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_DECLARATION = re.compile(r"@(\w+)(?=[\s'\"{]|$)\s*(.*)", re.DOTALL)
_NUMERIC = {"numeric", "real", "integer"}

# One quoted text, or one bare word that ends at `stop`.
QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_NAME = re.compile(rf"({QUOTED}|[^\s{{'\"][^\s{{]*)\s*")
_CATEGORY = re.compile(rf"\s*({QUOTED}|[^\s,{{}}'\"]+)\s*([,}}])")


@dataclass(frozen=True)
class Attribute:
    """A declared column; `kind` is "numeric", "nominal", "string", "date" or "relational"."""

    name: str
    kind: str
    line: int
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class Header:
    relation: str
    attributes: tuple[Attribute, ...]


def decode(line: bytes) -> str:
    """Read a line as UTF-8, or as Latin-1 where it is not."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def unquote(text: str) -> str:
    """Take off the quotes, if any, and resolve what is escaped within them."""
    if text[:1] not in ("'", '"'):
        return text
    return _ESCAPED.sub(_resolve, text[1:-1]) if "\\" in text else text[1:-1]


def _resolve(found: re.Match) -> str:
    code = found[1]
    if code[0] == "u" and len(code) == 5:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _CONTROL.get(code, code)


def quote(text: str) -> str:
    """Write a name or category so that `unquote` gives it back; plain words stay bare."""
    if re.fullmatch(r"[A-Za-z0-9_.+\-:/=<>()\[\]#&*^~|$!;@]+", text) and text[0] != "@":
        return text
    body = re.sub(r"[\\']", r"\\\g<0>", text)
    return "'" + re.sub(r"[\x00-\x1f]", lambda c: f"\\u{ord(c[0]):04x}", body) + "'"


def read_header(reader: LineReader) -> Header:
    """Read up to and including the line @data."""
    relation: str | None = None
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    while raw := reader.readline():
        line = decode(raw).strip().lstrip("\ufeff")
        if not line or line[0] == "%":
            continue
        found = _DECLARATION.fullmatch(line)
        word = found[1].lower() if found else ""
        if word == "relation" and found and relation is None and not attributes:
            relation = _whole_text(found[2])
        elif word == "attribute" and found:
            attribute = _read_attribute(found[2], reader)
            if attribute.name in seen:
                raise reader.error(
                    f"attribute {shown(attribute.name)} is already declared in line "
                    f"{seen[attribute.name]}"
                )
            seen[attribute.name] = reader.line
            attributes.append(attribute)
        elif word == "data":
            if not attributes:
                raise reader.error("@data comes before any @attribute")
            return Header(relation or "", tuple(attributes))
        else:
            raise reader.error(
                f"found {shown(line)}; expected @relation, @attribute or @data in an ARFF header"
            )
    if reader.line == 0:
        raise reader.error("the file is empty; expected an ARFF header")
    raise reader.error("the file ends before @data")


def _whole_text(text: str) -> str:
    text = text.strip()
    return unquote(text) if re.fullmatch(QUOTED, text, re.DOTALL) else text


def _read_attribute(text: str, reader: LineReader) -> Attribute:
    found = _NAME.match(text)
    if not found:
        raise reader.error(f"cannot read the attribute name in {shown(text)}")
    name, rest = unquote(found[1]), text[found.end() :].strip()
    if rest.startswith("{"):
        return Attribute(name, "nominal", reader.line, _read_categories(name, rest, reader))
    kind = rest.split()[0].lower() if rest else ""
    if kind in _NUMERIC:
        return Attribute(name, "numeric", reader.line)
    if kind in ("string", "date", "relational"):
        return Attribute(name, kind, reader.line)
    raise reader.error(
        f"attribute {shown(name)} has type {shown(rest)}; expected numeric, real, integer, string, "
        "date or {categories}"
    )


def _read_categories(name: str, text: str, reader: LineReader) -> tuple[str, ...]:
    categories = []
    place = 1
    while True:
        found = _CATEGORY.match(text, place)
        if not found:
            raise reader.error(
                f"cannot read the categories of {shown(name)} at {shown(text[place:])}; expected "
                "words or quoted texts, separated by commas and closed by }"
            )
        categories.append(unquote(found[1]))
        place = found.end()
        if found[2] == "}":
            break
    left = text[place:].strip()
    if left and not left.startswith("%"):
        raise reader.error(f"found {shown(left)} after the categories of {shown(name)}")
    if len(set(categories)) < len(categories):
        raise reader.error(f"attribute {shown(name)} declares a category twice")
    return tuple(categories)

"""What is here: which attributes of an ARFF file are labels, and how a value becomes a number."""

import math
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from prml.datasets.arff_header import Attribute, Header
from prml.datasets.text_input import LineReader, shown
from prml.datasets.words import number_of_word

LabelChoice = int | str | os.PathLike | Sequence[str] | None


def choose_labels(header: Header, labels: LabelChoice, path: str) -> list[int]:
    """Return the positions of the label attributes, in the order of the columns of Y."""
    n = len(header.attributes)
    position = {attribute.name: j for j, attribute in enumerate(header.attributes)}
    if labels is None:
        meka = re.search(r"-[Cc]\s+(-?\d+)", header.relation)
        beside = _xml_beside(path)
        if meka:
            labels = int(meka[1])
        elif beside.is_file():
            labels = beside
        else:
            raise ValueError(
                f"{path} does not say which attributes are labels; expected labels= to be a number "
                "of attributes, a list of names or a Mulan XML file."
            )
    if isinstance(labels, int | np.integer):
        if abs(labels) > n:
            raise ValueError(f"{path} has {n} attributes; {abs(labels)} of them cannot be labels.")
        return list(range(labels)) if labels >= 0 else list(range(n + int(labels), n))
    if isinstance(labels, os.PathLike) or (isinstance(labels, str) and labels.endswith(".xml")):
        names, where = read_mulan_xml(labels), f"named in {os.fspath(labels)}"
        chosen = sorted(_positions(names, position, path, where))
    elif isinstance(labels, str):
        raise ValueError(
            f"labels is {labels!r}; expected a number, a list of names or a path ending in .xml."
        )
    else:
        chosen = _positions([str(name) for name in labels], position, path, "named in labels=")
    return chosen


def _xml_beside(path: str) -> Path:
    """data.xml for data.arff; also for data.arff.gz."""
    bare = Path(path)
    if bare.suffix in (".gz", ".bz2", ".xz"):
        bare = bare.with_suffix("")
    return bare.with_suffix(".xml")


def _positions(names: list[str], position: dict[str, int], path: str, where: str) -> list[int]:
    if len(set(names)) < len(names):
        raise ValueError(f"a label is {where} twice.")
    for name in names:
        if name not in position:
            raise ValueError(f"{path} has no attribute {shown(name)}, a label {where}.")
    return [position[name] for name in names]


def read_mulan_xml(path: str | os.PathLike) -> list[str]:
    """Read the label names of a Mulan XML file, hierarchies flattened."""
    try:
        tree = ElementTree.parse(path)
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{os.fspath(path)}, line {error.position[0]}: this is not XML ({error})."
        ) from None
    # The tag carries the namespace in braces, when there is one.
    elements = [e for e in tree.iter() if e.tag.rpartition("}")[2] == "label"]
    names = [element.get("name") for element in elements]
    if not names or None in names:
        raise ValueError(f"{os.fspath(path)} holds no <label name=...> elements.")
    return [str(name) for name in names]


class Columns:
    """What becomes of each attribute: a column of X, a column of Y, or nothing.

    A value is kept as a *code*: the number itself, the index of a nominal's category, NaN when
    missing. `feature_of[j]` and `label_of[j]` are the column of attribute j, -1 when it has none;
    `limit[j]` is the number of codes, infinity for numbers. `inverted` marks the columns of Y
    whose code 0 means "present".
    """

    def __init__(self, header: Header, labels: list[int], ignore: Sequence[str], path: str) -> None:
        attributes = header.attributes
        n = len(attributes)
        known = {attribute.name for attribute in attributes}
        for name in ignore:
            if name not in known:
                raise ValueError(f"{path} has no attribute {shown(name)}, named in ignore=.")
        is_label = np.zeros(n, dtype=bool)
        is_label[labels] = True
        features = [
            j for j in range(n) if not is_label[j] and attributes[j].name not in set(ignore)
        ]
        self.path, self.attributes, self.n = path, attributes, n
        self.labels, self.features = np.array(labels, dtype=np.intp), np.array(features, np.intp)
        self.feature_of, self.label_of = np.full(n, -1), np.full(n, -1)
        self.feature_of[features] = np.arange(len(features))
        self.label_of[labels] = np.arange(len(labels))
        self.limit = np.full(n, np.inf)
        self.inverted = np.zeros(len(labels), dtype=bool)
        for j in features:
            self._check_feature(attributes[j])
        for column, j in enumerate(labels):
            self.inverted[column] = self._check_label(attributes[j])
            if attributes[j].kind == "numeric":
                self.limit[j] = 2
        for j, attribute in enumerate(attributes):
            if attribute.kind == "nominal":
                self.limit[j] = len(attribute.categories)
        self.readers = [_reader(attribute) for attribute in attributes]
        self.byte_readers = [_byte_reader(attribute) for attribute in attributes]
        # Where every value is its own code, a whole block is read as plain numbers.
        self.only_numbers = all(_numbers_are_codes(attribute) for attribute in attributes)

    def code(self, j: int, text: str, quoted: bool, reader: LineReader, line: int) -> float:
        """Turn one value into its code, or raise an error that names file and line."""
        if text == "?" and not quoted:
            return math.nan
        try:
            code = self.readers[j](text)
            if not math.isfinite(self.limit[j]) or code in range(int(self.limit[j])):
                return code
            if math.isnan(code):
                return code
        except (KeyError, ValueError):
            pass
        attribute = self.attributes[j]
        expected = "a number" if self.limit[j] != 2 else "0 or 1"
        if attribute.kind == "nominal":
            expected = "one of " + ", ".join(map(shown, attribute.categories[:5]))
            expected += ", ..." if len(attribute.categories) > 5 else ""
        raise reader.error(
            f"attribute {shown(attribute.name)} has the value {shown(text)}; expected {expected}, "
            "or ? where it is missing",
            line,
        )

    def legal(self, attributes: np.ndarray, codes: np.ndarray) -> bool:
        """Whether all codes, of the attributes given beside them, are in range."""
        limit = self.limit[attributes]
        discrete = np.isfinite(limit)
        if not discrete.any():
            return True
        codes = codes[..., discrete]
        whole = (codes >= 0) & (codes < limit[discrete]) & (codes == np.floor(codes))
        return bool((whole | np.isnan(codes)).all())

    def _check_feature(self, attribute: Attribute) -> None:
        if attribute.kind not in ("numeric", "nominal"):
            raise ValueError(
                f"{self.path}, line {attribute.line}: attribute {shown(attribute.name)} is a "
                f"{attribute.kind}; expected numeric or nominal features (name it in ignore= to "
                "leave it out)."
            )

    def _check_label(self, attribute: Attribute) -> bool:
        """Return whether the label's first category, code 0, is the positive one."""
        if attribute.kind == "numeric":
            return False
        numbers = [number_of_word(category) for category in attribute.categories]
        if numbers in ([0.0], [0.0, 1.0]):
            return False
        if numbers in ([1.0], [1.0, 0.0]):
            return True
        words = ",".join(map(shown, attribute.categories[:5]))
        raise ValueError(
            f"{self.path}, line {attribute.line}: label {shown(attribute.name)} is declared as "
            f"{attribute.kind} {{{words}}}; expected {{0,1}} or the like."
        )


def _reader(attribute: Attribute) -> Callable[[str], float]:
    """Return the function that turns a text into a code, or raises KeyError or ValueError."""
    if _numbers_are_codes(attribute):
        return _number
    if attribute.kind == "nominal":
        return {text: float(code) for code, text in enumerate(attribute.categories)}.__getitem__
    return _nothing


def _byte_reader(attribute: Attribute) -> Callable[[bytes], float]:
    """`_reader` for the undecoded bytes of a bare word."""
    if _numbers_are_codes(attribute):
        return float
    if attribute.kind == "nominal":
        codes = {text.encode(): float(code) for code, text in enumerate(attribute.categories)}
        codes[b"?"] = math.nan
        return codes.__getitem__
    return _nothing


def _number(text: str) -> float:
    if "_" in text:  # float() would read 1_000
        raise ValueError(text)
    return float(text)


def _nothing(text: str | bytes) -> float:
    return 0.0


def _numbers_are_codes(attribute: Attribute) -> bool:
    if attribute.kind == "numeric":
        return True
    return attribute.kind == "nominal" and attribute.categories == tuple(
        map(str, range(len(attribute.categories)))
    )

"""What is here: the maker of the embedded debtags data from Debian's package index.

Feed it the stanzas of a package index, for instance on any Debian machine:

    apt-cache dumpavail | python scripts/build_debtags.py - src/prml/datasets/data/debtags.tsv

The result depends on the stanzas alone, not on their order, the clock or the machine.
"""

import argparse
import hashlib
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

N_PACKAGES = 4000
N_TAGS = 100
MIN_TAGS = 3
MAX_ALIKE = 60  # packages with one and the same set of tags: a thousand Perl modules teach no more
TEST_SHARE = 0.25
MAX_BYTES = 600_000


class Package(NamedTuple):
    name: str
    source: str
    description: str
    tags: frozenset[str]


def read_stanzas(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield each stanza of a control file as a dict; a continuation line joins its field."""
    fields: dict[str, str] = {}
    last = None
    for line in lines:
        line = line.rstrip("\n")
        if not line.strip():
            if fields:
                yield fields
            fields, last = {}, None
        elif line[0] in " \t":
            if last is not None:
                fields[last] += "\n" + line.strip()
        elif ":" in line:
            last, value = line.split(":", 1)
            fields[last] = value.strip()
    if fields:
        yield fields


def tagged_packages(stanzas: Iterable[dict[str, str]]) -> list[Package]:
    """Keep the packages with enough finished tags; of the packages of one source the best tagged.

    Packages built from one source share most words, so that one in the training part and its
    sibling in the test part would make the problem look easier than it is.
    """
    best: dict[str, Package] = {}
    for fields in stanzas:
        if not {"Package", "Description", "Tag"} <= fields.keys():
            continue
        words = fields["Tag"].replace(",", " ").split()
        tags = frozenset(t for t in words if "::" in t and not t.endswith("::TODO"))
        description = " ".join(fields["Description"].split("\n")[0].split())
        if len(tags) < MIN_TAGS or "transitional" in description.lower():
            continue
        source = fields.get("Source", fields["Package"]).split()[0]
        package = Package(fields["Package"], source, description, tags)
        rival = best.get(source)
        if rival is None or _rank(package) < _rank(rival):
            best[source] = package
    return list(best.values())


def _rank(package: Package) -> tuple[int, str, str]:
    return (-len(package.tags), package.name, package.description)


def _shuffle_key(package: Package, purpose: str) -> str:
    return hashlib.sha256(f"{purpose}:{package.name}".encode()).hexdigest()


def select(packages: list[Package]) -> tuple[list[Package], list[str]]:
    """Choose the most frequent tags and a fixed pseudo-random sample of packages that use them."""
    counts = Counter(tag for package in packages for tag in package.tags)
    frequent = sorted(counts, key=lambda tag: (-counts[tag], tag))[:N_TAGS]
    known = frozenset(frequent)
    alike: dict[frozenset[str], int] = defaultdict(int)
    seen_text: set[str] = set()
    chosen: list[Package] = []
    for package in sorted(packages, key=lambda p: _shuffle_key(p, "select")):
        package = package._replace(tags=package.tags & known)
        text = package.description.lower()
        if len(package.tags) < MIN_TAGS or alike[package.tags] >= MAX_ALIKE or text in seen_text:
            continue
        alike[package.tags] += 1
        seen_text.add(text)
        chosen.append(package)
        if len(chosen) == N_PACKAGES:
            break
    return sorted(chosen), sorted(frequent)


def render(packages: list[Package], tags: list[str]) -> str:
    """Write the file: comments, one line a tag, one line a package with the numbers of its tags."""
    number = {tag: str(i) for i, tag in enumerate(tags)}
    by_lot = sorted(packages, key=lambda p: _shuffle_key(p, "split"))
    test = {p.name for p in by_lot[: round(TEST_SHARE * len(packages))]}
    lines = [
        "# Debian packages, their one-line descriptions and tags, from Debian's package index.",
        "# First the tags, numbered from 0; then: package, part, description, numbers of its tags.",
        *(f"tag\t{tag}" for tag in tags),
    ]
    for package in packages:
        codes = " ".join(number[tag] for tag in sorted(package.tags))
        part = "test" if package.name in test else "train"
        lines.append(f"{package.name}\t{part}\t{package.description}\t{codes}")
    return "\n".join(lines) + "\n"


def build(stream: TextIO) -> str:
    """Turn the stanzas of a package index into the text of the data file."""
    packages, tags = select(tagged_packages(read_stanzas(stream)))
    if not packages:
        raise ValueError(
            f"The index holds no package with {MIN_TAGS} tags; expected stanzas with the fields "
            "Package, Description and Tag (`apt-cache dumpavail` prints them)."
        )
    return render(packages, tags)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("index", help="file of package stanzas, or - for standard input")
    parser.add_argument("output", type=Path, help="the file to write")
    options = parser.parse_args(argv)
    try:
        if options.index == "-":
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")
            text = build(sys.stdin)
        else:
            with open(options.index, encoding="utf-8", errors="replace") as stream:
                text = build(stream)
        size = len(text.encode())
        if size > MAX_BYTES:
            raise ValueError(f"The result has {size} bytes; at most {MAX_BYTES} may be embedded.")
    except (OSError, ValueError) as error:
        print(f"build_debtags: {error}", file=sys.stderr)
        return 2
    unfinished = options.output.with_name(options.output.name + ".part")
    unfinished.write_text(text, encoding="utf-8", newline="\n")
    os.replace(unfinished, options.output)
    print(f"{options.output}: {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

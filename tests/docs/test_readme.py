"""What is here: the README speaks the truth - its generated parts are those of today's package."""

import re

import pytest
from scripts import refresh_readme as refresh
from tests.docs.snippets import ROOT, fenced

README = ROOT / "README.md"
HINT = "; `make readme` refreshes it"


@pytest.fixture(scope="module")
def readme():
    if not README.exists():
        pytest.skip("README.md is not part of this installation")
    return README.read_text("utf-8")


def test_ten_lines_of_python(readme):
    (code,) = fenced(readme, "python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_table_is_that_of_the_benchmark(readme):
    assert refresh.part(readme, "table") == refresh.table(), "the table is stale" + HINT


@pytest.mark.parametrize("name", ["demo", "command line"])
def test_output_is_that_of_a_run_today(readme, name):
    """The words are the same, figures within a unit of their last digit, seconds left out."""
    kept, made = refresh.part(readme, name).splitlines(), refresh.PARTS[name]().splitlines()
    assert len(kept) == len(made), f"the part '{name}' is stale" + HINT
    for old, new in zip(kept, made, strict=True):
        if " s, " in old or "seconds" in old:
            continue
        number = r"\d+\.\d+"
        assert re.sub(number, "#", old) == re.sub(number, "#", new), "stale" + HINT
        for a, b in zip(re.findall(number, old), re.findall(number, new), strict=True):
            assert abs(float(a) - float(b)) <= 1.01 * 10 ** -len(a.split(".")[1]), "stale" + HINT


def test_parts_are_found_and_replaced():
    text = "a\n<!-- begin: x -->\n\nold\n\n<!-- end: x -->\nb\n"
    assert refresh.part(text, "x") == "old"
    again = refresh.replace_part(text, "x", "new\nlines")
    assert refresh.part(again, "x") == "new\nlines" and again.endswith("b\n")
    with pytest.raises(ValueError, match="no part 'y'"):
        refresh.part(text, "y")


def test_pictures_and_files_exist(readme):
    named = re.findall(r"\]\(([^)]+)\)", readme) + re.findall(r"`(\w+\.(?:md|cff))`", readme)
    assert named
    for name in named:
        assert (ROOT / name).is_file(), name

"""What is here: the documentation builds without a warning, and its links lead somewhere."""

import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.snippets import ROOT


class Page(HTMLParser):
    """The anchors and the links of one page."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}
        for key in ("href", "src"):
            if named.get(key) is not None and tag != "link":
                self.links.append(named[key])


def broken_links(folder: Path) -> list[str]:
    """Internal links of a site that lead to no file, or to no anchor of it."""
    files = [path for path in folder.rglob("*.html") if "_static" not in path.parts]
    pages = {path: Page(path.read_text("utf-8")) for path in files}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith(("#top", "javascript")):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.exists() or (
                anchor and target in pages and anchor not in pages[target].anchors
            ):
                found.append(f"{path.relative_to(folder)} -> {link}")
    return found


def test_checker_sees_what_is_broken(tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html#y">1</a><a href="#z">2</a></p>')
    (tmp_path / "b.html").write_text('<p id="y"><a href="a.html#x">3</a><a href="c.html">4</a></p>')
    assert sorted(broken_links(tmp_path)) == ["a.html -> #z", "b.html -> c.html"]


def test_no_page_names_what_is_not_there():
    """Documents of the table of contents exist; the build itself is the long test below."""
    text = (ROOT / "docs" / "index.rst").read_text("utf-8")
    for line in text.split(":hidden:")[1].splitlines():
        name = line.strip().rpartition("<")[2].rstrip(">")
        if name and not name.startswith(("gallery/", ":", "[")):
            pages = [ROOT / "docs" / f"{name}.{suffix}" for suffix in ("rst", "md")]
            assert any(page.is_file() for page in pages), name


@pytest.mark.long
def test_site_builds_and_its_links_lead_somewhere(tmp_path):
    missing = [
        m for m in ("sphinx", "sphinx_gallery", "numpydoc", "myst_parser") if not find_spec(m)
    ]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; pip install 'prml[docs]' brings them")
    site = tmp_path / "html"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"),
            *("-d", str(tmp_path / "trees"), str(ROOT / "docs"), str(site)),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert broken_links(site) == []

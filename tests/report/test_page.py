"""What is here: the page - escaped, self-contained, readable without colour, quiet in a browser."""

import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import prml.report
from prml.report import Example, ScoreRow, Tag, tags_of, write_demo_page

TEMPLATES = Path(prml.report.__file__).parent / "templates"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
VOID = {"meta", "link", "br", "img", "input", "hr"}


@pytest.fixture
def page(tmp_path):
    examples = [
        Example(
            "vim", 'an <editor> & "more"', tags_of([1, 0, 1], [1.0, 0.5, -1.0], ["a", "b", "c"])
        ),
        Example("<script>alert(1)</script>", "nasty", [Tag("<b>", "added", 1.0)]),
    ]
    return write_demo_page(
        tmp_path / "page.html",
        title="A <title>",
        lead="lead",
        facts={"packages": "4,000"},
        methods=["one", "two"],
        scores=[
            ScoreRow("ranking loss", "lower", "pairs", [0.2, 0.1]),
            ScoreRow("macro AUC", "higher", "area", [0.5, math.nan]),
        ],
        examples=examples,
        data_note="data",
    )


class Checker(HTMLParser):
    """Collects what a well-formed, self-contained page must and must not have."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.outside, self.ids, self.refs = [], [], [], set(), set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.append(tag)
        self.ids.update([values["id"]] if "id" in values else [])
        self.refs.update([values["aria-labelledby"]] if "aria-labelledby" in values else [])
        for key in ("src", "href"):
            if values.get(key) and not values[key].startswith(("#", "data:")):
                self.outside.append(values[key])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_page_is_well_formed_and_self_contained(page):
    text = page.read_text("utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == [] and checker.outside == []
    assert "script" not in checker.tags and "url(" not in text and "@import" not in text
    assert checker.refs <= checker.ids
    assert checker.tags.count("h1") == 1 and 'lang="en"' in text
    assert list(page.parent.iterdir()) == [page]


def test_what_comes_from_data_is_escaped(page):
    text = page.read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "an &lt;editor&gt; &amp; &#34;more&#34;" in text
    assert "A &lt;title&gt;" in text


def test_scores_states_and_the_best_value(page):
    text = page.read_text("utf-8")
    assert re.search(r'class="number best">0\.100<', text)
    assert re.search(r'class="number">0\.200<', text)
    assert re.search(r'class="number best">0\.500<', text) and re.search(r'class="number">-<', text)
    for state, words in prml.report.demo.WORDS.items():
        assert f'class="tag {state}"' in text and words in text


def test_tags_of_orders_by_score_and_knows_the_cut():
    tags = tags_of([[0, 1, 1]], [0.6, 0.4, 0.9], ["a", "b", "c"], cut=0.5)
    assert [(t.name, t.state) for t in tags] == [("c", "right"), ("a", "added"), ("b", "missed")]


def test_failed_write_leaves_the_old_page(tmp_path, monkeypatch):
    old = tmp_path / "page.html"
    old.write_text("old")
    with pytest.raises(Exception, match="undefined"):
        prml.report.write_page(old, "demo.html.j2", title="no more")
    assert old.read_text() == "old" and list(tmp_path.iterdir()) == [old]


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_of_text_is_at_least_five_to_one(scheme):
    css = (TEMPLATES / "page.css").read_text()
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", css.split(":root")[1 + scheme]))
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent") for ground in ("ground", "surface")]
    pairs += [(f"{state}-ink", state) for state in ("right", "missed", "added")]
    for ink, ground in pairs:
        assert contrast(colours[ink], colours[ground]) >= 5, (ink, ground)


def console_lines(page, tmp_path):
    """Open the page in headless Chromium; return the lines of its console and a screenshot."""
    shot = tmp_path / "shot.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += ["--enable-logging=stderr", "--window-size=1000,1400"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *flags, profile, f"--screenshot={shot}", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line], shot


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_browser_has_nothing_to_complain_of(page, tmp_path):
    complaints, shot = console_lines(page, tmp_path)
    assert complaints == []
    assert shot.stat().st_size > 10_000
    loud = tmp_path / "loud.html"
    loud.write_text("<!DOCTYPE html><title>x</title><script>console.error('heard')</script>")
    assert any("heard" in line for line in console_lines(loud, tmp_path)[0])

"""What is here: the page about a model in headless Chromium - sort, search, toggle, keys, print."""

import re
import warnings

import pytest
from sklearn.pipeline import Pipeline
from tests.report.browser import CHROMIUM, Browser
from tests.report.large_model import HOSTILE, large_model

from prml import PrBR
from prml.datasets import load_debtags
from prml.report import write_model_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def debtags_page(tmp_path_factory):
    data = load_debtags()
    train, test = data.train_idx, data.test_idx[:400]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = PrBR(C=0.1, tol=0.1, random_state=0).fit(data.X[train], data.Y[train])
    learner.label_names_ = learner.classes_ = data.label_names
    model = Pipeline([("tfidf", data.vectorizer), ("model", learner)])
    path = tmp_path_factory.mktemp("debtags") / "report.html"
    return write_model_report(path, model, data.text[test].tolist(), data.Y[test])


@pytest.fixture(scope="module")
def small_page(tmp_path_factory):
    return write_model_report(
        tmp_path_factory.mktemp("small") / "report.html", *large_model(12, n_samples=60)
    )


@pytest.fixture(scope="module")
def large_page(tmp_path_factory):
    return write_model_report(
        tmp_path_factory.mktemp("large") / "report.html", *large_model(n_samples=100)
    )


@pytest.fixture(scope="module", params=["debtags", "large"])
def which(request):
    """Which page: with the scope of the module all tests of one come before those of the other."""
    return request.param


@pytest.fixture
def page(request, which, browser):
    path = request.getfixturevalue(f"{which}_page")
    browser.complaints.clear()
    browser.requests.clear()
    if browser.run("location.href") != path.as_uri():  # the large one takes a second
        browser.open(path)
    yield which
    browser.run(RESTORE)
    assert browser.complaints == []
    assert set(browser.requests) <= {path.as_uri(), "data:,"}


RESTORE = """{
for (const id of ["label-search", "teacher-search"]) {
  document.getElementById(id).value = "";
  document.getElementById(id).dispatchEvent(new Event("input"));
}
const frequency = document.querySelector("#label-table th:nth-child(2)");
while (frequency.ariaSort !== "descending") frequency.firstElementChild.click();
document.getElementById("show-list").click();
document.querySelector("[data-show=lot]").click();
if (document.getElementById("only-wrong").checked) document.getElementById("only-wrong").click();
}"""
SHOWN = "[...document.querySelectorAll('#label-table tbody tr')].filter(r => !r.hidden)"
FIRST = "document.querySelector('#label-table tbody tr:not([hidden])').innerText"


def column(browser, k):
    return browser.run(f"{SHOWN}.map(r => r.cells[{k}].textContent)")


def test_the_browser_hears_complaints(browser, tmp_path):
    loud = tmp_path / "loud.html"
    loud.write_text(
        "<!DOCTYPE html><title>x</title><link rel=icon href='data:,'>"
        "<script>console.error('heard'); setTimeout(() => { throw Error('thrown') })</script>"
    )
    browser.complaints.clear()
    browser.open(loud)
    assert browser.run("1 + 1") == 2
    assert any("heard" in line for line in browser.complaints)
    assert any("thrown" in line for line in browser.complaints)


def test_sorting(page, browser):
    n = 100 if page == "debtags" else 200
    counts = [int(value) for value in column(browser, 1)]
    assert len(counts) == n and counts == sorted(counts, reverse=True)
    for head, kind in (1, float), (5, float), (0, str.lower):
        directions = set()
        for _ in range(2):
            browser.click(f"#label-table th:nth-child({head + 1}) button")
            direction = browser.run("document.querySelector('th[aria-sort]').ariaSort")
            values = [kind(value) for value in column(browser, head) if value != "-"]
            if head > 0:
                assert values == sorted(values, reverse=direction == "descending")
            directions.add((direction, values[0]))
        assert len(directions) == 2
    marked = browser.run("[...document.querySelectorAll('th[aria-sort]')].map(t => t.innerText)")
    assert len(marked) == 1 and marked[0].startswith("Label")
    # no more rows at once than one can look through, unless asked for
    assert browser.run("document.getElementById('label-all').hidden") == (page == "debtags")
    if page == "large":
        browser.click("#label-all")
    assert len(column(browser, 0)) == (100 if page == "debtags" else 3993)
    # what cannot be computed comes last, whichever way the column goes
    for _ in range(2):
        browser.click("#label-table th:nth-child(4) button")
        undefined = [value == "-" for value in column(browser, 3)]
        assert undefined == sorted(undefined)


def test_searching(page, browser):
    wanted, among = ("LANG:P", 100) if page == "debtags" else ("label 12", 3993)
    browser.run("document.getElementById('label-search').focus()")
    browser.type(wanted)
    found = column(browser, 0)
    assert found and len(found) <= 200 and all(wanted.lower() in name.lower() for name in found)
    told = browser.run("document.getElementById('label-count').textContent")
    assert told == f"{len(found)} of {among}"
    browser.run("document.getElementById('label-search').select()")
    browser.type("no such label")
    assert column(browser, 0) == []


def test_size(page, request):
    assert request.getfixturevalue(f"{page}_page").stat().st_size < 5e6


def test_one_label(page, browser):
    name = column(browser, 0)[3]
    browser.click("#label-table tbody tr:nth-child(4) button.pick")
    assert browser.run("document.getElementById('one-name').textContent") == name
    assert browser.run("document.querySelectorAll('#one-chart polyline').length") == 3
    for points in browser.run(
        "[...document.querySelectorAll('#one-chart polyline')].map(p => p.getAttribute('points'))"
    ):
        assert re.fullmatch(r"[\d.,\- ]+", points)
    # a teacher leads to its own curve
    teacher = browser.run("document.querySelector('#one-teachers button').textContent")
    browser.click("#one-teachers button")
    assert browser.run("document.getElementById('one-name').textContent") == teacher
    assert browser.run("document.querySelectorAll('tr.picked').length") == 1


def test_teachers_as_list_and_as_map(page, browser):
    def is_shown(part):
        return browser.run(f"document.getElementById('{part}').offsetHeight > 0")

    assert is_shown("teacher-list") and not is_shown("teacher-map")
    browser.run("document.getElementById('teacher-search').focus()")
    wanted = "interface::x11" if page == "debtags" else "label 2000"
    browser.type(wanted)
    rows = browser.run("[...document.querySelectorAll('#teacher-rows tr')].map(r => r.textContent)")
    assert rows[0].startswith(wanted) and all(wanted in row for row in rows)
    browser.click("#show-map")
    assert is_shown("teacher-map") and not is_shown("teacher-list")
    browser.run("document.getElementById('map').focus()")
    browser.press("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown")
    said = browser.run("document.getElementById('map-said').textContent")
    row, column = browser.run(
        "(() => { const m = JSON.parse(document.getElementById('data').textContent);"
        "return [m.names[m.map.labels[1]], m.names[m.map.labels[2]]]; })()"
    )
    assert said.startswith(column) and row in said
    browser.press("Enter")
    assert browser.run("document.getElementById('one-name').textContent") == row


def test_map_follows_the_mouse(page, browser):
    browser.click("#show-map")
    where = browser.run(
        "(() => { const g = document.querySelector('#map .map-ground');"
        "g.scrollIntoView({block: 'start', behavior: 'instant'});"
        "const b = g.getBoundingClientRect(); const n = 60;"
        "return [b.x + 7.5 * b.width / n, b.y + 9.5 * b.height / n]; })()"
    )
    browser._call("Input.dispatchMouseEvent", type="mouseMoved", x=where[0], y=where[1])
    cursor = "document.getElementById('map-cursor')"
    assert browser.run(f"[{cursor}.getAttribute('x'), {cursor}.getAttribute('y')]") == ["7", "9"]


def test_gallery(page, browser):
    shown = "[...document.querySelectorAll('#gallery > li')].filter(e => !e.hidden)"
    assert browser.run(f"{shown}.length") == 16
    browser.click("[data-show=worst]")
    assert browser.run(f"{shown}.length") == 8
    assert browser.run(f"{shown}.every(e => e.dataset.group === 'worst')")
    assert browser.run("document.querySelector('[data-show=worst]').ariaPressed") == "true"
    browser.click("[data-show=lot]")
    browser.click("#only-wrong")
    assert browser.run(f"{shown}.every(e => 'wrong' in e.dataset)")
    assert browser.run(f"{shown}.every(e => e.querySelector('.missed, .added'))")
    # every mistake has its comment
    assert browser.run(
        f"{shown}.every(e => e.querySelectorAll('.missed, .added').length"
        " === e.querySelectorAll('.comments li').length)"
    )


def test_colours_can_be_chosen(page, browser):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(ground)
    browser.click("#theme")
    dark = browser.run(ground)
    browser.click("#theme")
    assert light == browser.run(ground) == "rgb(251, 251, 249)" and dark == "rgb(20, 23, 26)"
    browser.click("#theme")
    assert browser.run("document.getElementById('theme').textContent") == "Colours: as the system"


def test_everything_can_be_reached_by_keys(browser, small_page):
    browser.open(small_page)
    reached = []
    for _ in range(120):
        browser.press("Tab")
        reached.append(browser.run("document.activeElement.id || document.activeElement.innerText"))
        if reached[-1] == "only-wrong":
            break
    assert reached[0] == "Skip to the content"
    parts = ("theme", "label-search", "show-map", "show-list", "map", "Furthest off", "only-wrong")
    assert all(part in reached for part in parts), reached
    browser.run("document.querySelector('#label-table th button').focus()")
    before = browser.run(FIRST)
    browser.press("Enter")
    assert browser.run("document.querySelector('#label-table th').ariaSort") == "ascending"
    assert browser.run(FIRST) != before
    outline = browser.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_whole_map_of_few_labels_comes_first_and_names_stay_text(browser, small_page):
    browser.complaints.clear()
    browser.open(small_page)
    assert browser.run("document.getElementById('teacher-map').offsetHeight > 0")
    names = column(browser, 0)
    assert set(HOSTILE) <= set(names)
    browser.click("#show-list")
    for name in HOSTILE:
        browser.run(
            "[...document.querySelectorAll('#label-table button.pick')]"
            f".find(b => b.textContent === {name!r}).click()"
            if name != "\"'`"
            else "0"
        )
    assert (
        browser.run("document.querySelectorAll('main script, main b:not(.comments b)').length") == 0
    )
    assert browser.complaints == []


@pytest.mark.parametrize("width", [360, 390, 800, 1400])
def test_nothing_is_wider_than_the_window(browser, debtags_page, width):
    browser.open(debtags_page, width=width, height=800, phone=width < 500)
    assert browser.run("document.documentElement.scrollWidth") <= width
    browser.click("#show-map")
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_prints(browser, debtags_page, tmp_path):
    browser.open(debtags_page, dark=True)
    assert browser.print_to_pdf().startswith(b"%PDF")
    assert browser.screenshot(tmp_path / "page.png", whole=True).stat().st_size > 50_000

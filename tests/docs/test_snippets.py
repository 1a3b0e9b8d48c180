"""What is here: every snippet of the README and of the documentation's pages runs."""

import pytest
from tests.docs.snippets import ROOT, commands, fenced, pages, run_page

PAGES = {str(path.relative_to(ROOT)): path for path in pages() if path.exists()}
# Pages of prose; all others must have something that ran.
PROSE = {
    "docs/architecture.rst",
    "docs/changelog.md",
    "docs/guide/index.rst",
    "docs/reliability.md",
} | {name for name in PAGES if name.startswith("docs/theory/")}


@pytest.mark.parametrize("name", PAGES)
def test_snippets_run(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    if name == "docs/distributed.rst":
        pytest.importorskip("distributed")
    count = run_page(PAGES[name], tmp_path)
    assert count > 0 or name in PROSE or name in ("docs/api.rst",)


def test_runner_sees_a_wrong_output_and_a_failing_command(tmp_path):
    page = tmp_path / "page.rst"
    page.write_text("Sum\n===\n\n>>> 1 + 1\n3\n")
    with pytest.raises(AssertionError, match="Expected"):
        run_page(page, tmp_path)
    page.write_text("A\n=\n\n.. code-block:: console\n\n   $ prml predict absent.prml\n   words\n")
    assert commands(page.read_text()) == ["prml predict absent.prml"]
    with pytest.raises(AssertionError, match="absent"):
        run_page(page, tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```python\nraise KeyError('x')\n```\n")
    assert len(fenced(page.read_text(), "python")) == 1
    with pytest.raises(KeyError):
        run_page(page, tmp_path)

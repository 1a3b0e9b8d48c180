"""Sphinx configuration."""

import re
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

from prml import __version__

project = "prml"
copyright = "2026, the prml developers"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/**/*.md5", "gallery/**/*.py", "gallery/**/*.ipynb"]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"  # the parameters are described below the signature
# Docstrings inherited from scikit-learn refer to labels of its own guide.
suppress_warnings = ["ref.ref"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "prml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "show_prev_next": True,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# Pages without others below them have nothing to show beside the text.
html_sidebars = {
    page: []
    for page in (
        *("index", "faq", "migration", "architecture", "extending"),
        *("benchmark", "command_line", "changelog"),
    )
}
html_math_renderer = "mathml"


# Formulas are MathML, which browsers draw by themselves: the pages need no network.
def _as_mathml(tex: str, block: bool) -> str:
    tex = re.sub(r"\n\s*\n", " ", tex.strip())
    tex = re.sub(
        r"\\[bB]ig(?![a-zA-Z])", "", tex
    )  # the converter knows them as \\bigl and \\bigr only
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    try:
        made = tex2mathml(tex, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", tex, error)
        return tex
    # An index of an accented letter stands beside it, not below.
    made = re.sub(
        r"<munderover>\s*(<mi>\w</mi>)\s*(<mi>.*?</mi>|<mrow>.*?</mrow>)\s*"
        r'(<mo stretchy="false">~</mo>)\s*</munderover>',
        r'<msub><mover accent="true">\1\3</mover>\2</msub>',
        made,
        flags=re.S,
    )
    return made.replace("<mtable", '<mtable displaystyle="true"')


def visit_math(self, node) -> None:
    self.body.append(_as_mathml(node.astext(), block=False))
    raise SkipNode


def visit_math_block(self, node) -> None:
    self.body.append(f'<div class="formula">{_as_mathml(node.astext(), block=True)}</div>')
    raise SkipNode


def insert_results(app, docname, source) -> None:
    """Put the files of benchmarks/results where a page asks for them, if they are there."""
    results = Path(__file__).parents[1] / "benchmarks" / "results"

    def content(mark) -> str:
        path = results / mark[1]
        return path.read_text("utf-8") if path.is_file() else ""

    source[0] = re.sub(r"<!-- results: ([\w.]+) -->", content, source[0])


def setup(app) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("source-read", insert_results)

"""Sphinx configuration."""

from prml import __version__

project = "prml"
copyright = "2026, the prml developers"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
exclude_patterns = ["_build"]
# Docstrings inherited from scikit-learn refer to labels of its own guide.
suppress_warnings = ["ref.ref"]
html_theme = "pydata_sphinx_theme"
html_title = "prml"
# The pages work from disk and without a network; formulas alone ask for MathJax.
html_theme_options = {"navigation_with_keys": True, "show_prev_next": False}

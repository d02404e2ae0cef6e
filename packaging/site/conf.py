"""How Sphinx builds the site; build.py lays out what it reads."""

import os
import sys

sys.path.insert(0, os.environ["TESSERA_SITE_PYTHON"])  # the package, for its reference

project = "Tessera"
author = "The Tessera authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "index"
html_theme = "furo"
html_title = "Tessera"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

myst_heading_anchors = 6  # links such as metrics.md#the-page, as the pages have them
myst_enable_extensions = ["colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings have them in words
napoleon_google_docstring = False
napoleon_use_ivar = True

# Fences of C with "…" in them, and the options of pages whose first heading is not of the first level.
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

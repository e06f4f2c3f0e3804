"""How the documentation site is built: `make docs`, offline, warnings as errors."""

from superwords import __version__

project = "superwords"
author = "The superwords developers"
release = version = __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]

# The theme carries its own files and uses the fonts of the reader's system: nothing is loaded from the web.
html_theme = "furo"
html_title = "superwords"
html_copy_source = html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_style = "friendly"

myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]

# Notebooks are run on every build, and a cell that fails stops it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

"""How the documentation site is built: `make docs` writes it to out/site. It needs no network, nor do its pages."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import dalembert  # noqa: E402

project = "dalembert"
release = version = dalembert.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "navigation",
    "docstrings",
    "reference",
    "sources",
    "mathml",
    "notebook",
    "readability",
]
exclude_patterns = ["_*", "gallery"]
nitpicky = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

html_theme = "furo"
html_title = "dalembert"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "native"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name for name in ("ArrayLike", "Frame", "Point", "Vector", "Groups", "Fixed", "Touching", "Shape")
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

"""How Sphinx builds the documentation: ``make docs``. Nothing is fetched while it is built or read."""

from enum import EnumType
from inspect import isfunction, ismethod
from typing import Any

import matplotlib as mpl
from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import fwlasso
import fwlasso.datasets
from fwlasso.bed import Cohort, Genotypes
from fwlasso.distributed import ClusterDesign
from fwlasso.solvers.polytopes import OnSimplices

mpl.use("agg")

project = "fwlasso"
author = "The fwlasso developers"
copyright = author
version = release = fwlasso.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "tutorials/*.ipynb", "tutorials/*.py", "tutorials/*.md5", "tutorials/*.zip"]
nitpicky = True
# Docstrings have the names of arguments between single backticks, too: what is no public name is shown as code.
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]

# Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Docstrings
autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
templates_path = ["_templates"]


def _own_members(public: type) -> dict[str, list[str]]:
    """Return the public methods and properties of a class that are ours, and the members of an enumeration."""
    methods, attributes = [], [member.name for member in public] if isinstance(public, EnumType) else []
    for name in dir(public):
        found = getattr(public, name)
        is_ours = not name.startswith("_") and getattr(found, "__module__", "").startswith("fwlasso")
        if is_ours and (isfunction(found) or ismethod(found)):
            methods.append(name)
        elif not name.startswith("_") and isinstance(found, property):
            attributes.append(name)
    return {"methods": methods, "attributes": attributes}


_CLASSES = [
    getattr(module, name)
    for module in (fwlasso, fwlasso.datasets)
    for name in module.__all__
    if isinstance(getattr(module, name), type)
] + [ClusterDesign, Cohort, Genotypes, OnSimplices]
autosummary_context = {"own_members": {public.__name__: _own_members(public) for public in _CLASSES}}

# Tutorials
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its page would fetch scripts
    "remove_config_comments": True,
    "capture_repr": (),
    "doc_module": ("fwlasso",),
    "backreferences_dir": "api/examples",
    "inspect_global_variables": False,
    "image_scrapers": ("matplotlib",),
    "copyfile_regex": "",
}
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = ">>> "

# Pages
html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
toc_object_entries_show_parents = "hide"
html_title = f"fwlasso {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "fwlasso"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 1,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "FIRST_HOUR": [], "CHANGELOG": []}


def _find_public(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Link a name between backticks that is public in another module than the one it is mentioned in."""
    if node.get("reftype") != "obj":
        return None
    for module in ("fwlasso", "fwlasso.datasets", "fwlasso.bed", "fwlasso.distributed", "fwlasso.solvers.polytopes"):
        name = f"{module}.{node['reftarget']}"
        found = env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, shown)
        if found is not None:
            return found
    return None


def _show_formula(writer: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers set without scripts or fonts from elsewhere."""
    display = "block" if node.tagname == "math_block" else "inline"
    writer.body.append(convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Any) -> None:
    """Tell Sphinx what is of our own."""
    app.connect("missing-reference", _find_public)
    app.add_html_math_renderer("mathml", (_show_formula, None), (_show_formula, None))

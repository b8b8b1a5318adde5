# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How Sphinx makes the site (make docs). The repository's root is the source folder, so that the documents' links to
README.md and to source files are the same on the site as in the repository."""

project = "Pagecast"
copyright = "the Pagecast authors"

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "docs/*.md", "docs/start/*.md", "*/README.md", "*/**/README.md"]
exclude_patterns = ["build", "results", "**/.*"]

myst_heading_anchors = 4  # as GitHub's
suppress_warnings = ["toc.not_included"]  # folders' READMEs are reached by links
highlight_language = "none"

html_theme = "furo"
html_title = "Pagecast"
html_copy_source = False
html_show_sphinx = False

PAGES = {
    "Start": [f"start/{page}" for page in ("index", "python", "r", "package", "c", "fortran-mpi", "container", "slurm")],
    "Using it": ["run", "compile", "explain", "statistics", "fields", "limits", "files", "backing", "failures", "programs", "speculate", "profile", "sharing", "sharing-sim", "maps", "serve", "python", "api", "options"],
    "Knowing more": ["ARCHITECTURE", "GLOSSARY", "BENCHMARKS", "DECISIONS", "LINUX", "TESTING"],
}


def contents() -> str:
    """The menu, which README.md cannot have itself: elsewhere it would be shown as text."""
    menus = [f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(f"docs/{page}" for page in pages)
             for caption, pages in PAGES.items()]
    menus[-1] += "\nCONTRIBUTING"
    return "\n\n" + "\n```\n\n".join(menus) + "\n```\n"


def add_contents(app, name: str, source: list[str]):
    if name == root_doc:
        source[0] += contents()


def add_first_page(app, error):
    """A folder is opened at index.html."""
    if error is None:
        (app.outdir / "index.html").write_text('<meta http-equiv="refresh" content="0; url=README.html">\n')


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_first_page)

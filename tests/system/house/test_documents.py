# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Documents are plain: short sentences and paragraphs, links that lead somewhere, paths that exist."""

import importlib.util

import pytest

import prose
from places import ROOT

checker = prose.Checker(ROOT)


@pytest.mark.parametrize("document", checker.documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_document(document):
    found = checker.problems(document)
    assert not found, "\n" + "\n".join(found)


@pytest.fixture
def planted(tmp_path):
    """Says what is wrong with a README.md of the given text, in a folder if one is named."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "nest.h").write_text("")
    (tmp_path / "other.md").write_text("# One heading: `a` b\n\nText.\n")

    def problems(text: str, folder: str = ".") -> list[str]:
        document = tmp_path / folder / "README.md"
        document.write_text(text)
        return prose.Checker(tmp_path).problems(document)
    return problems


WORDS = "word " * 29


def test_long_sentences_are_found(planted):
    assert not planted(f"{WORDS}end. {WORDS}end.\n")
    assert "a sentence of 31 words" in planted(f"{WORDS}before end.\n")[0]
    assert "a sentence of 31 words" in planted(f"- item\n- {WORDS}`x y` end.\n  More.\n")[0]
    assert "a sentence of 31 words" in planted(f"> {WORDS}[a link](other.md)\n")[0]


def test_only_prose_is_counted(planted):
    long = WORDS + WORDS
    assert not planted(f"# {long}\n\n    {long}\n\n```\n{long}\n```\n\n| {long} |\n\n<!-- {long}\n{long} -->\n")


def test_full_stops_that_end_no_sentence(planted):
    assert "a sentence of 31 words" in planted(f"A. Demke {WORDS}\n")[0]
    assert "a sentence of 31 words" in planted(f"{WORDS}1.5 {'`a. b`'}.\n")[0]
    assert "a sentence of 31 words" in planted(f"So, e.g. {WORDS}\n")[0]


def test_long_paragraphs_are_found(planted):
    assert not planted("One two three four five. " * 16)
    assert "a paragraph of 85 words" in planted("One two three four five.\n" * 17)[0]
    assert not planted("- One two three four five.\n" * 17)


def test_folder_readmes_are_short(planted):
    assert not planted("Line.\n\n" * 10, "core")
    assert "11 lines" in planted("Line.\n\n" * 11, "core")[0]


def test_links_lead_somewhere(planted):
    assert not planted("[a](other.md#one-heading-a-b) [b](core/nest.h) [c](https://nowhere.example/x) [d](#here)\n\n# Here\n")
    assert "leads nowhere" in planted("[a](core/gone.h)\n")[0]
    assert "leads to a folder" in planted("[a](core)\n")[0]
    assert "has no heading" in planted("| [a](other.md#another) |\n")[0]
    assert "has no heading" in planted("[a](#there)\n\n# Here\n")[0]


def test_paths_exist(planted):
    assert not planted("`core/nest.h`, `nest.h`, `core/*.h`, `build/bin/x`, `/dev/userfaultfd`, `a/b`, `solve.c`\n")
    assert "there is no core/gone.h" in planted("`core/gone.h`\n")[0]
    assert "there is no file gone.h" in planted("| `gone.h` |\n")[0]


def test_folders_of_sources_say_what_lives_in_them():
    sources = [p for top in ("bench", "cli", "compiler", "core", "nbd", "runtime", "simulator", "speculate", "storage")
               for suffix in ("*.cpp", "*.h", "*.c", "*.py") for p in (ROOT / top).rglob(suffix)]
    assert len(sources) > 300
    assert not sorted({str(p.parent.relative_to(ROOT)) for p in sources if not (p.parent / "README.md").exists()})


def test_folders_of_tests_say_what_lives_in_them():
    inside = [p for top in (ROOT / "tests", ROOT / "tests" / "system") for p in top.iterdir() if p.is_dir() and p.name != "__pycache__"]
    assert len(inside) > 15
    assert not [str(p.relative_to(ROOT)) for p in inside if not (p / "README.md").exists()]


def test_every_page_is_in_the_site_and_in_the_index():
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    docs = ROOT / "docs"
    pages = {str(p.relative_to(docs).with_suffix("")) for p in docs.rglob("*.md")} - {"index"}
    assert pages == {page for menu in conf.PAGES.values() for page in menu}
    for folder in (docs, docs / "start"):
        index = (folder / "index.md").read_text()
        assert not [p for p in folder.glob("*.md") if p.stem != "index" and f"({p.name})" not in index]


def test_two_hops_lead_to_what_newcomers_look_for():
    reached = prose.reached(ROOT, 2)
    for wanted in ("runtime/pager/fault_service.cpp", "core/nest/distance.cpp", "compiler/nests/Classify.cpp",
                   "runtime/state/options.def", "docs/GLOSSARY.md"):
        assert ROOT / wanted in reached, f"README.md does not lead to {wanted} in two hops"


def test_the_architecture_names_who_refuses_and_who_decides_how_far_ahead():
    linked = {(ROOT / "docs" / target).resolve() for _, target in prose.links((ROOT / "docs" / "ARCHITECTURE.md").read_text())}
    for wanted in ("compiler/nests/Classify.cpp", "compiler/slices/Refusals.h", "core/nest/distance.cpp", "runtime/slicer/slicer.cpp",
                   "core/faults/fault_streams.cpp"):
        assert ROOT / wanted in linked, wanted

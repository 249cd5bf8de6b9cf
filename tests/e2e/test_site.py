"""Tests the pages of docs/: their size, their place in the site, and that the site builds."""

import re
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from autograder.student.watch_screen import BY_KEY

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
MOST_LINES = 120  # of a page about one task
READERS = ("instructor", "student")  # each has an overview and a folder of pages
NEEDED = ("mkdocs", "material", "mkdocstrings")


def hook() -> ModuleType:
    """Load the hook of the site, which needs no package of the site."""
    spec = spec_from_file_location("site_links", DOCS / "site_links.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_page_is_in_the_navigation_and_has_lists_that_the_site_reads(page: Path):
    """A page has a place in `mkdocs.yml`, and its lists have no text that would end them."""
    links = hook()
    name = page.relative_to(DOCS).as_posix()
    lists = links.ENDS_LIST.search(links.CODE.sub("", page.read_text("utf-8")))

    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert re.search(rf"[:-] {re.escape(name)}$", navigation, re.MULTILINE)
    assert lists is None


@pytest.mark.parametrize(
    "page",
    [page for reader in READERS for page in sorted((DOCS / reader).glob("*.md"))],
    ids=lambda page: page.relative_to(DOCS).as_posix(),
)
def test_a_page_about_a_task_is_short_and_in_the_overview(page: Path):
    """Each task of an instructor or a student has one short page, which the overview links."""
    overview = page.parent.with_suffix(".md")

    assert len(page.read_text("utf-8").splitlines()) <= MOST_LINES
    assert f"({overview.stem}/{page.name})" in overview.read_text("utf-8")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_every_link_leads_to_a_page_and_to_a_heading(page: Path):
    """A page or a heading that is renamed is also renamed in the links to it."""
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text("utf-8"))
    broken = [
        f"{path}#{anchor}"
        for path, anchor in links
        for target in [page.parent / path if path else page]
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]

    assert broken == []


def test_the_table_of_keys_for_students_has_every_key_of_watch():
    """A key that is added to `watch`, or removed, is also changed on its page."""
    page = (DOCS / "student" / "watch.md").read_text("utf-8")
    rows = re.findall(r"^\| (\S(?:, \S)*) \|", page, re.MULTILINE)
    keys = [key for row in rows for key in row.split(", ")]

    assert sorted(keys) == sorted(BY_KEY)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path):
    """`mkdocs build --strict` finds no broken link; without the packages of the site, skip."""
    if not all(map(find_spec, NEEDED)):
        pytest.skip(f"needs {', '.join(NEEDED)} (make docs installs them)")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path / "site")]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603  # a fixed command

    assert made.returncode == 0, made.stderr[-3000:]

"""Pages and pictures that follow from the code are those of the code, and the site is built without a broken link."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = runpy.run_path(str(DOCS / "make_reference.py"))
NOT_RUN = re.compile(r"<!-- not run: .+ -->\n```")


@pytest.mark.parametrize("name", sorted(REFERENCE["PAGES"]))
def test_the_reference_is_that_of_the_code(name: str) -> None:
    assert (DOCS / "reference" / name).read_text("utf-8") == REFERENCE["PAGES"][name](), "run python docs/make_reference.py"


@pytest.mark.long
def test_the_pictures_show_what_the_crawl_shows() -> None:
    drawn = runpy.run_path(str(DOCS / "draw_pictures.py"))["drawn"]()
    behind = [name for name, picture in drawn.items() if (DOCS / "pictures" / name).read_text("utf-8") != picture]
    assert behind == [], "run python docs/draw_pictures.py"


def _anchors(page: Path) -> set[str]:
    """What a link to a place in the page may name: its headings, as the site spells them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL), re.MULTILINE)
    shown = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in shown}


def test_no_link_between_pages_is_broken() -> None:
    broken, seen = [], 0
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\((?![a-z]+:)([^)\s]+)\)", text):
            path, _, place = target.partition("#")
            found = page.parent / path if path else page
            seen += 1
            if not found.exists() or (place and found.suffix == ".md" and place not in _anchors(found)):
                broken.append((page.name, target))
    assert broken == []
    assert seen > 300


@pytest.mark.long
def test_the_site_is_built_without_a_broken_link(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(DOCS.parent / "zensical.toml", tmp_path)
    command = [Path(sys.executable).parent / "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").is_file()
    # Nothing is fetched from elsewhere when a page is read.
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert re.findall(r'<(?:script|img)[^>]+src="https?://[^"]+', page) == []
    assert re.findall(r'<link[^>]+rel="(?:stylesheet|preconnect)"[^>]+href="https?://[^"]+', page) == []


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r'"([\w/-]+\.md)"', (DOCS.parent / "zensical.toml").read_text("utf-8")))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert there == listed


def test_few_examples_are_not_run_and_each_says_why() -> None:
    pages = [*(DOCS / "start").glob("*.md"), *(DOCS / "how-to").glob("*.md")]
    blocks = sum(page.read_text("utf-8").count("```sh") for page in pages)
    left_out = sum(len(NOT_RUN.findall(page.read_text("utf-8"))) for page in pages)
    assert left_out <= blocks // 3

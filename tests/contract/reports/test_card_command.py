"""`bowerbird card`: the facts of a store under the headings of a datasheet, as Markdown, as a page, and for machines."""

from __future__ import annotations

import asyncio
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from test_figures import filled

from bowerbird import cli
from bowerbird.app import vocabulary
from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.errors import Failure, FlowError
from bowerbird.export.card.croissant import PublishedFile, as_croissant, published_files
from bowerbird.export.card.markdown import as_markdown
from bowerbird.export.card.page import as_page
from bowerbird.export.card.sheet import Told, make_sheet
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.flows.files.sections.card_words import CardWords
from bowerbird.ports import Database
from bowerbird.reports.dataset.facts import read_facts
from failures import command_error, raises_code

_SETTINGS = json.dumps({"services": [], "card": {"title": "Told at the start"}})
_PLAN = '{"flow": "topic", "facets": {"search": {"ranker": "circular"}}, "filters": {}}'
SCRIPT = "<script>alert(1)</script> | *bold* [a](b)"


async def crawled(database: Database) -> None:
    """A store with a crawl, its plan and calls, an account that opted out, and a deletion."""
    await filled(database)
    async with database.transaction() as tx:
        await tx.execute(
            "insert into crawls (crawl, name, flow, settings, state, wanted, reason, calls, items, created_at, updated_at) "
            "values (1, 'study', '{}', ?, 'finished', 'running', ?, 2, 6, 1772366400000000, 1772370000000000)",
            *(_SETTINGS, Failure("limit_reached", SCRIPT).to_json()),
        )
        await tx.execute("insert into plans (crawl, version, document, since) values (1, 1, ?, 1772366400000000)", _PLAN)
        await tx.execute(
            "insert into calls (call, crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at) "
            "values (900, 1, 1, 'search', 1, 'settled', '[]', 1, '[]', 1, 1)"
        )
        await tx.execute("insert into deletions (subject, id, reason, at) values ('post', 'x:99', 'deleted', 1)")
        await tx.execute("update users set opts_out = 1 where id = 'x:3'")
        await tx.execute(
            "insert into workers (name, host, pid, started_at, seen_at, version) values ('w', 'h', 1, 1772366400000000, 1, '0.1')"
        )


def store(folder: Path) -> str:
    place = str(folder / "study.db")

    async def fill() -> None:
        database = await open_database(place, RealClock())
        await database.create_tables()
        await crawled(database)
        await database.close()

    asyncio.run(fill())
    return place


class Read(HTMLParser):
    """Which tags a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


async def test_the_card_says_what_the_store_holds_and_lacks(database: Database) -> None:
    await crawled(database)
    facts = await read_facts(database, RealClock().now())
    card = as_markdown(make_sheet(Told(facts=facts, words=CardWords(purpose="To learn."))))
    for said in (
        "study",
        "To learn.",
        "| written | 2026-03-01 to 2026-03-04 (UTC) |",
        "bowerbird 0.1",
        "flow topic",
        "| search | circular | 1 |",
        "1 accounts",
        "| posts | deleted | 1 |",
        "Licence: ",
    ):
        assert said in card, said


async def test_nothing_from_outside_becomes_markup(database: Database) -> None:
    await crawled(database)
    facts = await read_facts(database, RealClock().now())
    sheet = make_sheet(Told(facts=facts, words=CardWords(title=SCRIPT, citation="```\n" + SCRIPT)))
    page = Read()
    page.feed(as_page(sheet, {}))
    assert "script" not in page.tags
    card = as_markdown(sheet)
    assert card.startswith(r"# \<script\>alert(1)\</script\> \| \*bold\* \[a\](b)")
    assert "````\n```\n" in card


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of libraries that the validator uses
async def test_machines_read_the_columns_of_the_files_that_go_out(database: Database, tmp_path: Path) -> None:
    import mlcroissant

    await crawled(database)
    facts = await read_facts(database, RealClock().now())
    file = PublishedFile(name="posts.csv", holds="posts", format="text/csv", sha256="0" * 64, bytes=10)
    words = CardWords(title="Study", licence="CC-BY-4.0", url="https://example.org/study", authors=("A",))
    metadata = tmp_path / "croissant.json"
    metadata.write_bytes(as_croissant(Told(facts=facts, words=words), (file,)))
    dataset = mlcroissant.Dataset(jsonld=metadata)
    assert not dataset.metadata.issues.errors
    assert not dataset.metadata.issues.warnings
    assert {"posts/id", "posts/text"} <= {field.id for field in dataset.metadata.record_sets[0].fields}


def test_the_command_writes_a_folder_and_names_what_nobody_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place, out = store(tmp_path), tmp_path / "card"
    assert cli.run(["card", place, "-o", str(out), "--author", "A", "--licence", "CC0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["unsaid"] == ["purpose", "contact"]
    assert sorted(path.name for path in out.iterdir()) == ["card.html", "card.md", "croissant.json", "figures"]
    assert "# Told at the start" in (out / "card.md").read_text("utf-8")
    assert "data:image/svg+xml" in (out / "card.html").read_text("utf-8")
    # A second card takes the place of the first.
    assert cli.run(["card", place, "-o", str(out), "--title", "Another"]) == 0
    assert "# Another" in (out / "card.md").read_text("utf-8")


def test_a_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    place, out = store(tmp_path), tmp_path / "notes.txt"
    out.write_text("mine")
    assert "notes.txt" in command_error("card", place, "-o", out, code="already_exists").problem
    assert out.read_text() == "mine"


def test_the_crawl_file_says_what_only_people_know() -> None:
    service = '[service]\nprovider = "mastodon"\nbase = "https://mastodon.social"\n'
    card = '[card]\ntitle = "Floods"\nauthors = ["A", "B"]\nlicence = "CC0"\n'
    text = f'flow = "timelines"\nseeds = ["@a"]\n{service}{card}'
    plan = parse_crawl(text, Path("study.toml"), vocabulary())
    assert plan.card == CardWords(title="Floods", authors=("A", "B"), licence="CC0")
    assert json.loads(plan.told())["card"] == {"title": "Floods", "authors": ["A", "B"], "licence": "CC0"}
    with raises_code(FlowError, "unknown_key") as caught:
        parse_crawl(text.replace("licence", "license"), Path("study.toml"), vocabulary())
    assert "'license'" in str(caught.value)
    assert "'licence'" in str(caught.value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of libraries that the validator uses
def test_the_files_of_an_export_are_in_the_metadata(tmp_path: Path) -> None:
    import mlcroissant

    place, out, posts = store(tmp_path), tmp_path / "card", tmp_path / "posts.csv"
    assert str(posts) in command_error("card", place, "-o", out, "--export", posts, code="file_damaged").problem
    assert cli.run(["export", "posts", place, "-o", str(posts)]) == 0
    assert cli.run(["card", place, "-o", str(out), "--export", str(posts), "--licence", "CC0"]) == 0
    told = json.loads((out / "croissant.json").read_text("utf-8"))
    assert [file["name"] for file in told["distribution"]] == ["posts.csv"]
    assert told["recordSet"][0]["@id"] == "posts"
    assert cli.run(["export", "posts", place, "-o", f"{tmp_path}/days/", "--format", "parquet"]) == 0
    assert all(file.name.startswith("days/") for file in published_files(tmp_path / "days"))
    assert published_files(tmp_path / "days")
    assert not mlcroissant.Dataset(jsonld=out / "croissant.json").metadata.issues.errors

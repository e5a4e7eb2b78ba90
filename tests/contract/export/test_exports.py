"""Exports on either database, read back by the programs that people use, and never with what may not leave the store."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pytest
from export_scene import HOSTILE, exported, filled
from store_pages import START, TIMELINE, Crawled, post

from bowerbird.clock import EPOCH
from bowerbird.crawl.life import registry
from bowerbird.errors import UserError
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.rows.cells import original
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.model import Page
from bowerbird.model.items import Judged
from bowerbird.ports import Database
from bowerbird.reports.blocks.reading import BlockReader
from bowerbird.reports.blocks.selection.choosing import Choice
from bowerbird.reports.blocks.tables import TABLES
from failures import raises_code

FORBIDDEN = ("deleted", "opts out", "suspended", "x:33", "x:34", "x:35", "x:4", "x:5", "u4", "u5")
KEPT = [*(f"x:{n}" for n in range(10, 21)), "x:30", "x:31", "x:32"]


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await filled(database)


def lines(path: Path) -> list[dict[str, Any]]:
    """In the order of ids, where they have some."""
    read = [json.loads(line) for line in path.read_bytes().decode().split("\n") if line]
    return sorted(read, key=lambda row: str(row.get("id")))


def cells(path: Path) -> list[dict[str, str]]:
    usual = csv.field_size_limit(10_000_000)
    try:
        read = csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""))
        return sorted(read, key=lambda row: row["id"])
    finally:
        csv.field_size_limit(usual)


@pytest.mark.parametrize("what", sorted(SHAPES))
async def test_every_column_of_every_shape_is_read(crawled: Crawled, what: str) -> None:
    async for block in BlockReader(crawled.database, TABLES[what]).blocks():
        assert set(SHAPES[what].names) <= block.columns.keys()


async def test_json_lines_have_every_post_once_with_everything(crawled: Crawled, tmp_path: Path) -> None:
    await exported(crawled.database, "posts", tmp_path / "posts.jsonl")
    read = lines(tmp_path / "posts.jsonl")
    assert [row["id"] for row in read] == KEPT
    assert [row["text"] for row in read[: len(HOSTILE)]] == HOSTILE
    rich = read[KEPT.index("x:30")]
    assert rich["author_id"] == "x:2"
    assert rich["author_handle"] == "u2"
    assert rich["tags"] == ["flood", "porto"]
    assert rich["mentions"] == ["x:1"]
    assert rich["links"] == ["https://example.org/a|b"]
    assert rich["media"] == ["https://example.org/m.jpg"]
    assert (rich["place"], rich["country"], rich["latitude"]) == ("Porto", "PT", 41.1)
    assert (rich["reply_to"], rich["likes"], rich["is_sensitive"]) == ("x:10", 3, False)
    assert rich["created_at"] == "2026-04-10T12:00:00.000000Z"


async def test_csv_is_safe_for_spreadsheets_and_can_be_undone(crawled: Crawled, tmp_path: Path) -> None:
    await exported(crawled.database, "posts", tmp_path / "posts.csv")
    read = cells(tmp_path / "posts.csv")
    assert [original(row["text"]) for row in read[: len(HOSTILE)]] == HOSTILE
    assert not [cell for row in read for cell in row.values() if cell.strip().startswith(("=", "+", "@"))]
    assert read[KEPT.index("x:30")]["links"] == "https://example.org/a%7Cb"
    assert read[KEPT.index("x:30")]["created_at"] == "2026-04-10T12:00:00.000000Z"


async def test_parquet_by_day_is_read_by_duckdb_pandas_and_polars(crawled: Crawled, tmp_path: Path) -> None:
    import pandas
    import polars

    manifest = await exported(crawled.database, "posts", tmp_path / "days")
    assert {file.name.split("/")[0] for file in manifest.files} >= {"day=2026-03-01", "day=2026-04-10"}
    pattern = str(tmp_path / "days" / "*" / "*.parquet")
    by_duckdb = duckdb.sql(f"select id, text, tags, day from read_parquet('{pattern}') order by id").fetchall()
    assert [row[0] for row in by_duckdb] == KEPT
    assert [row[1] for row in by_duckdb[: len(HOSTILE)]] == HOSTILE
    assert by_duckdb[KEPT.index("x:30")][2:4] == (["flood", "porto"], (START + timedelta(days=40)).date())
    by_pandas = pandas.read_parquet(tmp_path / "days").sort_values("id")
    assert by_pandas["text"].tolist()[: len(HOSTILE)] == HOSTILE
    by_polars = polars.read_parquet(pattern).sort("id")
    assert by_polars["text"].to_list()[: len(HOSTILE)] == HOSTILE
    assert by_polars["created_at"].dtype == polars.Datetime("us", "UTC")


async def test_a_workbook_has_texts_and_no_formulas(crawled: Crawled, tmp_path: Path) -> None:
    import openpyxl

    await exported(crawled.database, "posts", tmp_path / "posts.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "posts.xlsx").active
    assert sheet is not None
    header, *rows = sheet.iter_rows()
    texts = [row[[cell.value for cell in header].index("text")] for row in rows]
    assert {cell.data_type for cell in texts} <= {"s", "inlineStr", "n"}
    assert texts[0].value == "=1+1"
    assert len(rows) == len(KEPT)


@pytest.mark.parametrize("what", sorted(SHAPES))
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
async def test_nothing_deleted_or_unwanted_is_in_any_export(crawled: Crawled, what: str, ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"a.{ending}"
    await exported(crawled.database, what, out)
    if ending == "parquet":
        told = json.dumps(duckdb.sql(f"select * from '{out}'").to_arrow_table().to_pylist(), default=str)
    else:
        told = out.read_text(encoding="utf-8")
    assert [word for word in FORBIDDEN if f'"{word}"' in told or f" {word}" in told] == []


async def test_other_tables_have_readable_rows(crawled: Crawled, tmp_path: Path) -> None:
    for what in ("follows", "reactions", "media", "users"):
        await exported(crawled.database, what, tmp_path / f"{what}.jsonl")
    assert [(row["source_handle"], row["target_handle"]) for row in lines(tmp_path / "follows.jsonl")] == [
        ("u2", "u1"),
        ("u3", "u1"),
    ]
    assert {(row["post_id"], row["kind"], row["user_handle"]) for row in lines(tmp_path / "reactions.jsonl")} == {
        ("x:30", "like", "u1"),
        ("x:30", "repost", "u3"),
    }
    (picture,) = lines(tmp_path / "media.jsonl")
    assert (picture["id"], picture["post_id"], picture["author_handle"]) == ("m1", "x:30", "u2")
    assert [row["handle"] for row in lines(tmp_path / "users.jsonl")] == ["u1", "u2", "u3"]


async def test_rows_are_chosen_by_time_language_author_and_words(crawled: Crawled, tmp_path: Path) -> None:
    chosen = {
        "lang": (Choice(languages=("pt",)), ["x:30"]),
        "user": (Choice(users=("@u3",)), ["x:32"]),
        "word": (Choice(words=("FLOOD in",)), ["x:30"]),
        "tag": (Choice(words=("#Porto",)), ["x:30", "x:32"]),
        "since": (Choice(since=START + timedelta(days=30)), ["x:30"]),
        "until": (Choice(until=START + timedelta(hours=13)), ["x:10", "x:31", "x:32"]),
    }
    for name, (choice, ids) in chosen.items():
        await exported(crawled.database, "posts", tmp_path / f"{name}.jsonl", choice=choice)
        assert [row["id"] for row in lines(tmp_path / f"{name}.jsonl")] == ids, name


async def test_rows_are_chosen_by_what_they_are_judged_to_be(crawled: Crawled, tmp_path: Path) -> None:
    sql = (
        "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call) "
        "values (?, ?, ?, ?, 'profile', 1, 0.9, '{}', '1', 1, 1)"
    )
    async with crawled.database.transaction() as tx:
        await tx.execute(sql, "place", "post", "x:10", "Lisbon")
        await tx.execute(sql, "language", "user", "x:3", "pt-PT")
    for name, choice, ids in (
        ("place", Choice(places=("Lisbon",)), ["x:10"]),
        ("judged", Choice(judged=(Judged("language", "pt-PT"),)), ["x:32"]),
        ("any", Choice(judged=(Judged("place"),)), ["x:10"]),
    ):
        await exported(crawled.database, "posts", tmp_path / f"{name}.jsonl", choice=choice)
        assert [row["id"] for row in lines(tmp_path / f"{name}.jsonl")] == ids
    await exported(crawled.database, "judgements", tmp_path / "judgements.csv")
    assert [(row["judge"], row["handle"]) for row in cells(tmp_path / "judgements.csv")] == [("place", ""), ("language", "u3")]


async def test_what_rows_do_not_have_is_refused(crawled: Crawled, tmp_path: Path) -> None:
    with raises_code(UserError, "unsupported") as caught:
        await exported(crawled.database, "follows", tmp_path / "a.csv", choice=Choice(languages=("en",)))
    assert "language" in str(caught.value)
    with raises_code(UserError, "unknown_account") as caught:
        await exported(crawled.database, "posts", tmp_path / "b.csv", choice=Choice(users=("nobody",)))
    assert "nobody" in str(caught.value)
    with raises_code(UserError, "unknown_name") as caught:
        await exported(crawled.database, "hashtags", tmp_path / "c.csv")
    assert "'hashtags'" in str(caught.value)
    with raises_code(UserError, "unsupported") as caught:
        await exported(crawled.database, "follows", tmp_path / "d.txt")
    assert "ids" in str(caught.value)
    with raises_code(UserError, "unknown_format") as caught:
        await exported(crawled.database, "posts", tmp_path / "e.dat")
    assert "e.dat" in str(caught.value)


async def test_a_sample_is_the_same_for_the_same_seed_and_has_its_size(crawled: Crawled, tmp_path: Path) -> None:
    async def ids(name: str, **options: Any) -> list[str]:
        await exported(crawled.database, "posts", tmp_path / f"{name}.jsonl", **options)
        return [row["id"] for row in lines(tmp_path / f"{name}.jsonl")]

    five = await ids("a", sample=5, seed=1)
    assert len(five) == 5
    assert await ids("b", sample=5, seed=1) == five
    assert await ids("c", sample=5, seed=2) != five
    assert set(await ids("d", sample=0.5, seed=1)) < set(KEPT)
    assert await ids("e", sample=500) == KEPT


async def test_files_are_split_and_the_manifest_has_their_checksums(crawled: Crawled, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "xlsx", "jsonl"):
        manifest = await exported(crawled.database, "posts", tmp_path / f"posts.{ending}", split=5)
        assert [file.rows for file in manifest.files] == [5, 5, 4]
        for file in manifest.files:
            content = (tmp_path / file.name).read_bytes()
            assert (len(content), sha256(content).hexdigest()) == (file.bytes, file.sha256)
        told = json.loads((tmp_path / f"posts.{ending}.manifest.json").read_text(encoding="utf-8"))
        assert (told["rows"], told["go_on"], told["what"]) == (len(KEPT), None, "posts")
        assert not (tmp_path / f"{manifest.files[-1].name}.part").exists()


async def test_payloads_are_written_as_they_came(crawled: Crawled, tmp_path: Path) -> None:
    await exported(crawled.database, "posts", tmp_path / "raw.jsonl", raw=True)
    assert {row["id"] for row in lines(tmp_path / "raw.jsonl")} == {int(known.removeprefix("x:")) for known in KEPT}


async def test_ids_alone_are_one_a_line(crawled: Crawled, tmp_path: Path) -> None:
    await exported(crawled.database, "posts", tmp_path / "ids.txt")
    assert sorted((tmp_path / "ids.txt").read_text(encoding="utf-8").splitlines()) == KEPT


async def test_only_new_rows_are_added(crawled: Crawled, tmp_path: Path) -> None:
    first = await exported(crawled.database, "posts", tmp_path / "all", format="csv", only_new=True)
    assert first.run.rows == len(KEPT)
    nothing = await exported(crawled.database, "posts", tmp_path / "all", format="csv", only_new=True)
    assert nothing.run.rows == 0
    assert nothing.run.found_until is not None
    crawled.now = nothing.run.found_until + timedelta(microseconds=1) - timedelta(hours=1)
    await crawled.save(Page(posts=(post("50"),)), TIMELINE, "1")
    later = await exported(crawled.database, "posts", tmp_path / "all", format="csv", only_new=True)
    assert (later.run.rows, later.rows) == (1, len(KEPT) + 1)
    assert [row["id"] for row in cells(tmp_path / "all" / later.files[-1].name)] == ["x:50"]


async def test_an_export_that_is_there_is_not_overwritten(crawled: Crawled, tmp_path: Path) -> None:
    await exported(crawled.database, "posts", tmp_path / "a.csv")
    with raises_code(UserError, "already_exists") as caught:
        await exported(crawled.database, "posts", tmp_path / "a.csv")
    assert "--new" in str(caught.value)
    with raises_code(UserError, "invalid") as caught:
        await exported(crawled.database, "posts", tmp_path / "a.csv", split=3)
    assert "'split': 3" in str(caught.value)
    (tmp_path / "b.csv").write_text("mine", encoding="utf-8")
    with raises_code(UserError, "already_exists") as caught:
        await exported(crawled.database, "posts", tmp_path / "b.csv")
    assert "b.csv" in str(caught.value)


_ABOUT = (
    (
        "insert into candidates (crawl, user_no, source, state, found_at) "
        "select 1, user_no, 'mentions', 'valid', 1 from users where id = 'x:1'"
    ),
    (
        "insert into label_samples (crawl, judge, said, place, user_no, drawn_at) "
        "select 1, 'community', 'yes', 1, user_no, 1 from users where id = 'x:1'"
    ),
    (
        "insert into labels (crawl, judge, user_no, who, label, at) "
        "select 1, 'community', user_no, 'u2', 'yes', 1 from users where id = 'x:1'"
    ),
)


async def test_pseudonyms_take_the_place_of_everybody(crawled: Crawled, tmp_path: Path) -> None:
    names = Pseudonyms(b"k" * 32)
    async with crawled.database.transaction() as tx:
        if await tx.fetch_one("select 1 as there from crawls where crawl = 1") is None:
            await registry.enrol_crawl(tx, "c", "{}", "{}", EPOCH)
        for statement in _ABOUT:
            await tx.execute(statement)
    for what in SHAPES:
        await exported(crawled.database, what, tmp_path / f"{what}.jsonl", pseudonyms=names)
        told = (tmp_path / f"{what}.jsonl").read_text(encoding="utf-8")
        assert not [
            name for name in ("u1", "u2", "u3", "x:1", "x:2", "x:3", "Person") if f'"{name}' in told or f"@{name}" in told
        ]
    assert [row["id"] for what in ("candidates", "labels") for row in lines(tmp_path / f"{what}.jsonl")] == [
        names.of_id("x:1")
    ] * 2
    posts = {row["id"]: row for row in lines(tmp_path / "posts.jsonl")}
    rich = posts[names.of_post("x:30")]
    assert rich["author_id"] == names.of_id("x:2")
    assert rich["text"] == f"Flood in #Porto, says @{names.of_handle('u1')}"
    assert rich["mentions"] == [names.of_id("x:1")]
    assert rich["reply_to"] in posts


async def test_an_empty_store_gives_an_empty_file(database: Database, tmp_path: Path) -> None:
    import polars

    for ending in ("csv", "jsonl", "parquet", "xlsx"):
        manifest = await exported(database, "posts", tmp_path / f"a.{ending}")
        assert [file.rows for file in manifest.files] == [0]
    assert polars.read_parquet(tmp_path / "a.parquet").height == 0

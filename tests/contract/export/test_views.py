"""The views of a store: what exports tell, readable, the same on both databases, and as the page says."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from export_scene import exported, filled, opened
from store_pages import START, Crawled, micros, post

from bowerbird.export.rows.cells import told_time
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.rows.shapes import Kind, Shape
from bowerbird.model import Page, to_micros
from bowerbird.ports import Database

PAGE = (Path(__file__).parents[3] / "docs" / "store.md").read_text(encoding="utf-8")
DOCUMENTED = {
    row[1]: re.findall(r"`(\w+)`", row[2]) for row in re.finditer(r"^\| `(v_\w+)` \| [^|]+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
}
NUMBERS = {"posts": ["post_no"], "users": ["user_no"]}
_COLUMNS = {
    "sqlite": "select m.name as view, p.name as name from sqlite_master m, pragma_table_info(m.name) p "
    "where m.type = 'view' and m.name like 'v!_%' escape '!' order by m.name, p.cid",
    "postgresql": "select table_name as view, column_name as name from information_schema.columns "
    "where table_schema = current_schema() and table_name like 'v!_%' escape '!' order by table_name, ordinal_position",
}
_BY_END = "substr(id, -13) = substr('x:30', -13) and id = 'x:30'"


_MODULES = (
    "insert into growth (at, name, rows, is_exact) values (?, 'posts', 7, 1)",
    """insert into module_runs (crawl, module, worker, is_by_hand, started_at, ended_at, counts)
    values (1, 'growth', 1, 1, ?, ?, '{"posts":7}')""",
    """insert into candidates (crawl, user_no, source, state, found_at, mentions, votes_at, followed_by_yes)
    select 1, user_no, 'mentions', 'valid', ?, 3, ?, 2 from users""",
    """insert into label_samples (crawl, judge, said, place, user_no, drawn_at)
    select 1, 'place', 'yes', user_no, user_no, ? from users""",
    "insert into labels (crawl, judge, user_no, who, label, at) select 1, 'place', user_no, 'ada', 'no', ? from users",
)
"""What modules and people leave behind."""


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    """The store of the exports, with the query log and judgements that it lacks."""
    crawled = await filled(database)
    at = micros(START)
    async with database.transaction() as tx:
        await tx.execute(
            "insert into crawls (crawl, name, flow, settings, state, wanted, created_at, updated_at) "
            "values (1, 'flood', '', '{}', 'done', 'run', 1, 1)"
        )
        await tx.execute("insert into lanes (lane, crawl, service, facet) values (1, 1, 1, 'timeline')")
        for call in range(1, crawled.call + 1):
            await tx.execute(
                "insert into calls (call, crawl, lane, facet, worker, state, charges, objects, targets, leased_at, expires_at, "
                "status) values (?, 1, 1, 'timeline', 1, 'settled', '[]', 1, '[\"1\"]', ?, ?, 200)",
                *(call, at + call, at),
            )
        for subject, id_, value in (("user", "x:1", "Porto"), ("user", "x:4", "Porto"), ("post", "x:30", "Porto")):
            await tx.execute(
                "insert into judgements (judge, subject, id, value, reason, strength, confidence, evidence, version, at, call) "
                "values ('place', ?, ?, ?, 'text', 1, 0.5, '{\"a\":1}', '1', ?, 1)",
                *(subject, id_, value, at),
            )
        await tx.execute("insert into keyword_methods (method, crawl, name, bit, state, since) values (1, 1, 'skwa', 0, '{}', 1)")
        for term, until in (("#flood", None), ("#rain", at + 5)):
            await tx.execute(
                "insert into keywords (crawl, method, term, since, why, numbers, until, until_why, until_numbers) "
                "values (1, 1, ?, ?, 'frequent', '{\"posts\":4}', ?, ?, ?)",
                *(term, at, until, until and "quiet", until and '{"posts":0}'),
            )
        for statement in _MODULES:
            await tx.execute(statement, *[at] * statement.count("?"))
    return crawled


def read_back(shape: Shape, row: Any) -> dict[str, Any]:
    """A row of a view as an export in JSON tells it."""
    said = {column.name: row[column.name] for column in shape.columns}
    for column in shape.columns:
        if column.kind in (Kind.LIST, Kind.DOCUMENT) and said[column.name] is not None:
            said[column.name] = json.loads(said[column.name])
        elif column.kind is Kind.FLAG and said[column.name] is not None:
            said[column.name] = bool(said[column.name])
    return said


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


@pytest.mark.parametrize("name", sorted(SHAPES))
async def test_a_view_says_what_the_export_of_its_name_says(crawled: Crawled, tmp_path: Path, name: str) -> None:
    await exported(crawled.database, name, tmp_path / "rows.jsonl")
    told = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_bytes().decode().split("\n") if line]
    seen = [read_back(SHAPES[name], row) for row in await crawled.rows(f"select * from v_{name}")]
    assert in_order(seen) == in_order([{key: row.get(key) for key in SHAPES[name].names} for row in told])
    assert seen


async def test_the_page_has_every_column_of_every_view_and_exports_have_the_same(database: Database) -> None:
    found: dict[str, list[str]] = {}
    async with database.reading() as tx:
        for row in await tx.fetch(_COLUMNS[database.dialect]):
            found.setdefault(row["view"], []).append(row["name"])
    assert found == DOCUMENTED
    assert set(found) == {f"v_{name}" for name in (*SHAPES, "gaps", "deletions")}
    for name, shape in SHAPES.items():
        assert found[f"v_{name}"] == [*shape.names, *NUMBERS.get(name, ())]


async def test_what_was_deleted_or_is_not_wanted_is_in_no_view_but_that_of_deletions(crawled: Crawled) -> None:
    for name in SHAPES:
        told = "\n".join(str(tuple(row)) for row in await crawled.rows(f"select * from v_{name}"))
        assert not [word for word in ("deleted", "opts out", "suspended", "'x:35'", "'x:4'", "'u4'", "'u5'") if word in told]
    deleted = await crawled.rows("select subject, id, reason, at, service from v_deletions order by subject, id")
    assert ("post", "x:35", "not_found", "2026-03-01T17:00:00.000000Z", "bird") in [tuple(row) for row in deleted]
    assert {row["id"] for row in deleted} >= {"x:5", "x:35"}


async def test_lists_are_spelt_the_same_by_both_databases(database: Database) -> None:
    crawled = await Crawled(database).register()
    rich = post("1", tags=("Zoo", "ähre", 'a"b\\c', "\U0001f469\u200d\U0001f467"), links=("https://example.org/ä",))
    await crawled.save(Page(posts=(rich, post("2"))))
    rows = await crawled.rows("select tags, cashtags, mentions, links, media, labels from v_posts order by id")
    assert rows[0]["tags"] == '["a\\"b\\\\c","zoo","ähre","\U0001f469\u200d\U0001f467"]'
    assert rows[0]["links"] == '["https://example.org/ä"]'
    assert tuple(rows[1]) == ("[]",) * 6


@pytest.mark.parametrize(
    "when",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 3, 1, 12, 0, 0, 7, UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    ],
)
async def test_times_are_texts_of_one_form_to_the_microsecond(database: Database, when: datetime) -> None:
    crawled = await Crawled(database).register()
    await crawled.save(Page(posts=(post("1"),)))
    async with database.transaction() as tx:
        await tx.execute("update posts set created_at = ?, edited_at = null", to_micros(when))
    row = await crawled.row("select created_at, edited_at from v_posts")
    assert tuple(row) == (told_time(when), None)


async def test_a_gap_says_where_it_is_and_whether_it_was_filled(crawled: Crawled) -> None:
    at = micros(START)
    async with crawled.database.transaction() as tx:
        await tx.execute(
            "insert into streams (stream, crawl, service, name, channel, options, state) "
            "values (1, 1, 1, 'floods', 'search', '{}', 'live')"
        )
        for gap, asked_at in ((1, None), (2, at)):
            await tx.execute(
                "insert into gaps (gap, stream, cause, began_at, missing, lane, target, asked_at) "
                "values (?, 1, 'cut', ?, 3, 1, 'flood', ?)",
                *(gap, at, asked_at),
            )
        await tx.execute(
            "insert into tasks (lane, target, state, ready, priority, visited_at, added_at) "
            "values (1, 'flood', 'asleep', 0, 0, ?, 0)",
            at + 1,
        )
    asked = "select crawl, service, stream, cause, began_at, missing, asked_at, is_filled from v_gaps order by gap"
    rows = await crawled.rows(asked)
    began = "2026-03-01T12:00:00.000000Z"
    assert [tuple(row) for row in rows] == [
        ("flood", "bird", "floods", "cut", began, 3, None, 0),
        ("flood", "bird", "floods", "cut", began, 3, began, 1),
    ]


@pytest.mark.parametrize(
    ("question", "index"),
    [
        ("select text from v_posts where author_id = 'x:2'", "posts_author"),
        (f"select text, author_handle from v_posts where {_BY_END}", "posts_id"),
        ("select handle from v_users where id = 'x:2'", "autoindex_users"),
        ("select target_handle from v_follows where source_id = 'x:2'", "autoindex_relations"),
        ("select source_handle from v_follows where target_id = 'x:1'", "relations_target"),
    ],
)
async def test_the_usual_questions_use_an_index(crawled: Crawled, question: str, index: str) -> None:
    async with crawled.database.transaction() as tx:
        if crawled.database.dialect == "sqlite":
            plan = [row["detail"] for row in await tx.fetch(f"explain query plan {question}")]
            assert not [step for step in plan if step.startswith("SCAN")], plan
            assert re.search(index, "\n".join(plan)), plan
        else:
            # Tables as small as these would be read whole; which of several indexes serves is up to the server.
            await tx.execute("set local enable_seqscan = off")
            plan = [row[0] for row in await tx.fetch(f"explain {question}")]
            assert not [step for step in plan if "Seq Scan" in step], plan


def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fill() -> None:
        async with opened(tmp_path / "crawl.db") as database:
            await filled(database)

    asyncio.run(fill())
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for number, example in enumerate(examples):
        (tmp_path / f"example_{number}.py").write_text(example, encoding="utf-8")
        runpy.run_path(str(tmp_path / f"example_{number}.py"))
    told = capsys.readouterr().out
    assert "Flood in #Porto, says @u1" in told
    assert "2026-04-10" in told

"""Flow `event` in virtual time: an event whose hashtags change, on every network, through kills, downtime and two workers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from power_cuts import run_until_killed

from bowerbird import cli
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.db import open_database
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.flows.keywords import KeywordUse
from bowerbird.ports import Clock, Database
from bowerbird.reports.keywords.reading import read_keywords, read_methods
from bowerbird.reports.status.streams import read_gaps
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.people.vocabulary import VOCABULARY
from bowerbird.simulated.world.posts.events import event_terms
from bowerbird.simulated.world.posts.tags import EVENTS_PER_DAY, TAGS_PER_EVENT, event_number, event_tag, tag_name
from bowerbird.simulated.world.settings import PlannedEvent
from failures import json_error

BEGINS = datetime(2026, 1, 6, 10, tzinfo=UTC)
EVENT = event_number(1, EVENTS_PER_DAY - 1)
TAG, SEED, *_ = (f"#{tag_name(event_tag(EVENT, variant))}" for variant in range(TAGS_PER_EVENT))
"""The two hashtags that the event has from the beginning: one in four of its posts has the first, one in six the second."""
FAMILY = {SEED, *(term.lower() for language in VOCABULARY for term in event_terms(EVENT, language))}
"""What its posts are recognised by; all its hashtags begin with the second."""
WORLD = WorldSettings(
    seed=3,
    accounts=1_200,
    start=BEGINS - timedelta(days=1, hours=10),
    following=8.0,
    posts_per_day=30,
    history=timedelta(days=1),
    longest_history=5,
    planned=PlannedEvent(begins=BEGINS - timedelta(hours=2), posts=12_000),
)
(DEFAULT,) = KeywordUse().methods
KEYWORDS = '[keywords]\nmethods = ["skwa", "baseline"]\nframe = "15m"\nmin_frequency = 2\n'


QUARTER = 15 * 60 * 1_000_000
GLANCE = timedelta(seconds=30)
FILTERED = ("x", "twitter_v1")
ALL_TEXTS = "select text from posts where text is not null and deleted_at is null"
TEXTS = "select p.text from posts p join keyword_posts k on k.post_no = p.post_no where p.text is not null and p.kind <> 'repost'"
"""Where the network filters, it also shows what posts answer and quote."""


def in_laboratory(dialect: str, work: Callable[[Laboratory], Awaitable[Any]]) -> Any:
    async def main(clock: VirtualClock) -> Any:
        return await work(Laboratory(Setup(dialect=dialect, world=WORLD, tokens=1, app_tokens=1), clock))

    return run_virtual(main, start=BEGINS)


@asynccontextmanager
async def opened(store: str, clock: Clock) -> AsyncIterator[Database]:
    database = await open_database(store, clock)
    try:
        yield database
    finally:
        await database.close()


def micros(when: datetime) -> int:
    return int(when.timestamp()) * 1_000_000


def is_about_it(text: str) -> bool:
    return any(term in text.lower() for term in FAMILY)


async def rows(database: Database, sql: str) -> list[tuple[Any, ...]]:
    async with database.reading() as tx:
        return [tuple(row) for row in await tx.fetch(sql)]


async def collected(database: Database) -> Mapping[str, set[int]]:
    """The posts of each method, by number."""
    methods = await rows(database, "select name, bit from keyword_methods")
    posts = await rows(database, "select post_no, methods from keyword_posts")
    return {name: {number for number, mask in posts if mask >> bit & 1} for name, bit in methods}


async def followed(database: Database, method: str = "skwa") -> set[str]:
    sql = "select k.term from keywords k join keyword_methods m on m.method = k.method where k.until is null and m.name = "
    return {term for (term,) in await rows(database, f"{sql}'{method}'")}


def event(laboratory: Laboratory, hours: int, store: str = ":memory:") -> CrawlPlan:
    return laboratory.plan('flow = "event"', [SEED], f'stop.duration = "{hours}h"\n{KEYWORDS}', store=store)


HOURS = {"x": 2, "weibo": 2, "mastodon": 3, "twitter_v1": 2}
"""One server of a federation shows a part of the event: an hour more."""
LONG = [pytest.param(*each, marks=pytest.mark.long) for each in HOURS.items()]


@pytest.mark.parametrize(("dialect", "hours"), [("bluesky", 2), *LONG])
def test_learned_keywords_collect_more_of_the_event_than_its_seed(dialect: str, hours: int) -> None:
    async def work(laboratory: Laboratory) -> None:
        keywords = KEYWORDS.replace("skwa", DEFAULT)
        plan = laboratory.plan('flow = "event"', [SEED], f'stop.duration = "{hours}h"\n{keywords}')
        async with laboratory.crawl(plan) as crawl:
            assert (await laboratory.run(crawl)).state == "finished"
            found = await collected(crawl.database)
            assert await followed(crawl.database, "baseline") == {SEED}
            # A word without # matches its hashtag too.
            learned = await followed(crawl.database, DEFAULT) - {SEED}
            probes = await rows(crawl.database, "select count(answered_at) from keyword_probes")
            texts = await rows(crawl.database, TEXTS if dialect in FILTERED else ALL_TEXTS)
            sampled = await rows(crawl.database, "select coalesce(sum(sampled), 0) from keyword_frames")
            samples = await rows(crawl.database, "select count(*) from keyword_samples")
            volumes = await rows(crawl.database, "select volume from keyword_frames where decided_at is not null")
            async with crawl.database.reading() as tx:
                claimed = {each.name: each.precision for each in await read_methods(tx, 1)}
                lines = [each for each in await read_keywords(tx, 1) if each.method == DEFAULT]
        assert {TAG, TAG[1:]} & learned
        assert found["baseline"] < found[DEFAULT]
        assert all((volume is None) == (dialect in FILTERED) for (volume,) in volumes)
        assert claimed["baseline"] is None
        assert probes[0][0] > 0
        # Where the network filters there is no sample: control searches take its place.
        assert (sampled[0][0] == 0) == (dialect in FILTERED)
        assert samples == [(0,)], "deleted at the end of the crawl"
        # No post is stored without a keyword, however much the stream delivers.
        assert sum(is_about_it(text) for (text,) in texts) > 0.6 * len(texts)
        (*claims, whole) = (*(each.precision for each in lines), claimed[DEFAULT])
        assert whole is not None
        assert all(each is None or 0 <= each.low <= each.mean <= each.high <= 1 for each in (*claims, whole))
        assert laboratory.service.audit()["refused"] == 0

    in_laboratory(dialect, work)


def test_default_method_without_probes_keeps_to_the_seeds_where_the_network_filters() -> None:
    async def work(laboratory: Laboratory) -> None:
        keywords = KEYWORDS.replace("skwa", DEFAULT) + "probes = 0\n"
        plan = laboratory.plan('flow = "event"', [SEED], f'stop.duration = "2h"\n{keywords}')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            assert await followed(crawl.database, DEFAULT) == {SEED}

    in_laboratory("x", work)


def test_kill_and_downtime_lose_no_keyword_and_no_post(tmp_path: Path) -> None:
    store = str(tmp_path / "event.db")

    async def work(laboratory: Laboratory) -> None:
        clock, plan = laboratory.clock, event(laboratory, 5, store)
        killed_at = BEGINS + timedelta(hours=1, minutes=22)
        await run_until_killed(laboratory, plan, killed_at, GLANCE)
        async with opened(store, clock) as database:
            before = await followed(database)
        assert TAG in before
        await clock.sleep_until(killed_at + timedelta(hours=1))
        await run_until_killed(laboratory, plan, killed_at + timedelta(hours=1, minutes=40), GLANCE)
        async with opened(store, clock) as database:
            frames = await rows(database, "select frame from keyword_frames where decided_at is not null order by frame")
            between = f"between {micros(killed_at)} and {micros(killed_at + timedelta(minutes=50))}"
            caught_up = await rows(database, f"select count(*), count(frame) from keyword_posts where at {between}")
            assert before <= await followed(database)
        # Jetstream goes back to the cursor: what was written in the hour is there, and no frame of it has decided anything.
        assert caught_up[0][0] > 5
        assert caught_up[0][1] == 0
        assert [frame for (frame,) in frames] == [micros(BEGINS) + n * QUARTER for n in (0, 1, 2, 3, 4, 9, 10, 11)]

    in_laboratory("bluesky", work)


@pytest.mark.parametrize("dialect", [pytest.param("mastodon", marks=pytest.mark.long), "twitter_v1"])
def test_gap_of_a_stream_without_cursor_is_searched(dialect: str, tmp_path: Path) -> None:
    store = str(tmp_path / "event.db")

    async def work(laboratory: Laboratory) -> None:
        clock, plan = laboratory.clock, event(laboratory, 5, store)
        killed_at = BEGINS + timedelta(minutes=50)
        await run_until_killed(laboratory, plan, killed_at, GLANCE)
        await clock.sleep_until(killed_at + timedelta(minutes=30))
        await run_until_killed(laboratory, plan, killed_at + timedelta(minutes=40), GLANCE)
        async with opened(store, clock) as database:
            async with database.reading() as tx:
                gaps = await read_gaps(tx)
            between = f"between {micros(killed_at)} and {micros(killed_at + timedelta(minutes=30))}"
            caught_up = await rows(database, f"select count(*) from keyword_posts where at {between}")
            texts = await rows(database, TEXTS if dialect in FILTERED else ALL_TEXTS)
        assert [gap.is_filled for gap in gaps if gap.cause == "start"] == [True]
        assert caught_up[0][0] > 3
        assert all(is_about_it(text) for (text,) in texts)

    in_laboratory(dialect, work)


def test_search_of_a_keyword_that_left_is_retired() -> None:
    async def work(laboratory: Laboratory) -> None:
        more = 'methods = ["skwa"]\nframe = "15m"\nmin_frequency = 9\nquiet_frames = 1\nlose_seeds = true\nby = "search"\n'
        plan = laboratory.plan('flow = "event"', [SEED], f'stop.duration = "3h"\n[keywords]\n{more}')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            left = await rows(crawl.database, "select distinct term from keywords where until is not null")
            retired = await rows(crawl.database, "select target, who, why from changes where kind = 'retired'")
        assert {f"#{target}" for target, _, _ in retired} == {term for (term,) in left} != set()
        assert {(who, why) for _, who, why in retired} == {("keywords", "it is no keyword any more")}

    in_laboratory("bluesky", work)


def test_command_shows_explains_orders_grades_draws_and_exports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def work(laboratory: Laboratory) -> None:
        async with laboratory.crawl(event(laboratory, 1, "event.db")) as crawl:
            await laboratory.run(crawl)

    in_laboratory("x", work)

    def told(*words: str) -> dict[str, Any]:
        assert cli.run(["keywords", "event.db", *words, "--json"]) == 0
        answer: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
        return answer

    assert {each["term"] for each in told()["keywords"]} >= {SEED, TAG}
    assert {each["name"] for each in told("--frames")["methods"]} == {"skwa", "baseline"}
    assert told("why", TAG)["entries"][0]["method"] == "skwa"
    assert TAG in {each["term"] for each in told("--related", SEED)["related"]}
    assert told("block", TAG.upper(), "--who", "ada")["changed"] == ["skwa", "baseline"]
    assert TAG not in {each["term"] for each in told()["keywords"]}
    assert told("why", TAG)["orders"] == [{"at": ANY, "who": "ada", "said": "block"}]
    Path("labels.csv").write_text(f"term,label,tagger\n{SEED},related,ann\n{SEED},possibly,bob\n{TAG},n,ann\n")
    assert told("grade", "--labels", "labels.csv")["categories"] == {"C1": 1, "C2": 0, "C3": 1, "C4": 0}
    assert told("seeds", "--like", "rockets over the harbour", "--like", "rockets again")["proposals"][0]["term"] == "rockets"
    told("show", SEED, "--plot", "event.svg")
    assert SEED in Path("event.svg").read_text()
    assert told("why", TAG, "--plot", "why.svg")["file"] == "why.svg"
    assert TAG in Path("why.svg").read_text()
    assert told("--related", SEED, "--plot", "related.svg")["related"]
    assert SEED in Path("related.svg").read_text()
    assert cli.run(["keywords", "why", SEED[1:]]) == 0
    assert f"'{SEED}'" in capsys.readouterr().out
    assert cli.run(["keywords", "why", TAG]) == 0
    times = [line[:19] for line in capsys.readouterr().out.split("\n\n")[0].splitlines()]
    assert len(times) > 2
    assert times == sorted(times)
    assert cli.run(["export", "keywords", "event.db", "-o", "keywords.csv"]) == 0
    assert Path("keywords.csv").read_text().startswith('"crawl","method","term"')
    assert cli.run(["status", "event.db"]) == 0
    assert "baseline" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "values"),
    [
        (["why"], "needs_option", [" why '#hashtag'"]),
        (["seeds"], "needs_option", ["--like", "--box"]),
        (["seeds", "--box", "nan,0,1,1"], "invalid", ["--box 'nan,0,1,1'"]),
        (["seeds", "--box", "0,1,1,0"], "invalid", ["--box '0,1,1,0'"]),
        (["blok", "#flood"], "unknown_name", ["'blok'", "'block'"]),
        (["show", "#flood"], "unsupported", [" why '#flood'"]),
        (["grade", "--like", "a post"], "unknown_name", ["--like", "grade"]),
        (["pin", "#bow river"], "invalid", ["'#bow river'"]),
        ([], "unsupported", ['flow = "event"']),
    ],
)
def test_command_refuses_invalid_words(
    words: list[str], code: str, values: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "timelines"', laboratory.keys(1), "stop.calls = 1", store=str(tmp_path / "other.db"))
        async with laboratory.crawl(plan):
            pass

    in_laboratory("x", work)
    assert cli.run(["keywords", str(tmp_path / "other.db"), *words, "--json"]) == 2
    error = json_error(capfd.readouterr().err)
    assert error.code == code
    assert [value for value in values if value not in str(error)] == []


@pytest.mark.parametrize("command", [["flow", "check"], ["crawl"]])
def test_invalid_method_option_is_refused_before_the_store_is_made(
    command: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service = '[service]\nprovider = "mastodon"\nbase = "http://127.0.0.1:9"\n'
    Path("a.toml").write_text(f'flow = "event"\nseeds = ["#flood"]\n{service}[keywords.rkwa]\nthres1 = 9\n')
    assert cli.run([*command, "a.toml", "--json"]) == 2
    error = json_error(capfd.readouterr().err)
    assert error.code == "invalid_file"
    assert error.problem.startswith("a.toml:")
    assert re.findall(r"-?\d+", error.problem.partition("thres1")[2]) == ["-1", "1", "9"]
    assert not Path("a.db").exists()


def test_posts_withheld_by_a_cap_are_recorded_by_frame() -> None:
    async def main(clock: VirtualClock) -> None:
        setup = Setup(dialect="twitter_v1", world=WORLD, tokens=1, app_tokens=1, volume=1)
        laboratory = Laboratory(setup, clock)
        plan = laboratory.plan('flow = "event"', [TAG], f'stop.duration = "2h"\n{KEYWORDS}')
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            frames = await rows(crawl.database, "select lost, cap, collected from keyword_frames where decided_at is not null")
            missing = await rows(crawl.database, "select sum(missing) from gaps where cause = 'undelivered'")
        assert sum(lost for lost, _, _ in frames) > 0
        assert 0 <= missing[0][0] - sum(lost for lost, _, _ in frames) <= 3
        assert {cap for _, cap, _ in frames} == {45_000}

    run_virtual(main, start=BEGINS + timedelta(hours=14))


def test_gap_of_many_keywords_is_filled_by_several_searches(tmp_path: Path) -> None:
    seeds = [TAG, *(f"#someotherhashtag{number}" for number in range(40))]
    more = 'stop.duration = "5h"\n[keywords]\nmethods = ["baseline"]\n'

    async def work(laboratory: Laboratory) -> None:
        store, began = str(tmp_path / "event.db"), BEGINS
        plan = laboratory.plan('flow = "event"', seeds, more, store=store)
        await run_until_killed(laboratory, plan, began + timedelta(minutes=20), GLANCE)
        await laboratory.clock.sleep_until(began + timedelta(minutes=50))
        await run_until_killed(laboratory, plan, began + timedelta(minutes=60), GLANCE)
        async with opened(store, laboratory.clock) as database:
            async with database.reading() as tx:
                gaps = await read_gaps(tx)
            between = f"between {micros(began + timedelta(minutes=20))} and {micros(began + timedelta(minutes=50))}"
            caught_up = await rows(database, f"select count(*) from keyword_posts where at {between}")
        assert len(gaps) == 3
        assert all(gap.is_filled for gap in gaps)
        assert caught_up[0][0] > 3

    in_laboratory("x", work)


def test_crawl_without_search_notes_that_probes_are_off() -> None:
    async def main(clock: VirtualClock) -> Sequence[str]:
        laboratory = Laboratory(Setup(dialect="bluesky", world=WORLD, tokens=0), clock)
        async with laboratory.crawl(event(laboratory, 1)) as crawl:
            return crawl.notes

    (note,) = run_virtual(main, start=BEGINS)
    assert note.startswith("simulated: ")
    assert "https://simulated.example" in note


def test_two_workers_decide_each_frame_once(tmp_path: Path) -> None:
    store = str(tmp_path / "event.db")

    async def work(laboratory: Laboratory) -> None:
        plan = laboratory.plan('flow = "event"', [SEED], f'stop.duration = "2h"\n{KEYWORDS}by = "search"\n', store=store)
        async with laboratory.crawl(plan) as one, laboratory.crawl(plan) as other:
            await asyncio.gather(laboratory.run(one), laboratory.run(other))
            decided = await rows(one.database, "select frame from keyword_frames where decided_at is not null")
            written = await rows(one.database, "select method, frame from keyword_decisions")
            entries = await rows(one.database, "select method, term, since from keywords")
        assert len(decided) >= 5
        assert sorted(frame for _, frame in written) == sorted(2 * [frame for (frame,) in decided])
        assert len(entries) == len(set(entries)) > 2

    in_laboratory("bluesky", work)

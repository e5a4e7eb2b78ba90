"""Keywords of an event on both databases: what filters store and count, how frames are decided, orders and labels."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec import structs
from store_pages import FIREHOSE, POSTS, START, Crawled, X, post, user

from bowerbird.clock import RealClock, to_micros
from bowerbird.crawl.life import registry
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.tally import Tally
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import UserError
from bowerbird.flows.flow import Flow
from bowerbird.flows.keywords import KeywordUse
from bowerbird.frontier import TaskFrontier
from bowerbird.keywords import rows
from bowerbird.keywords.decide import KEPT_FRAMES, KeywordLoop
from bowerbird.keywords.frames import frames_of, read_frame
from bowerbird.keywords.methods import make_method
from bowerbird.keywords.probes import Searches
from bowerbird.keywords.rows import apply_order
from bowerbird.keywords.setup import EventCrawl
from bowerbird.keywords.steering import Steering
from bowerbird.keywords.values import Candidate, Decision, Estimate, Frame, Keyword, Post, Settings, State
from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Gone, Outcome, Page, PostKind, Progress, Reason, Subject, Subscription, Task
from bowerbird.policies.registry import RankerSetting, ranker
from bowerbird.ports import Database, Sieve
from bowerbird.providers import provider
from bowerbird.reports.keywords.courses import read_course
from bowerbird.reports.keywords.explaining import explain, related_terms
from bowerbird.reports.keywords.grading import grade
from bowerbird.reports.keywords.method_counts import read_method_counts
from bowerbird.reports.keywords.proposing import Wish, propose
from bowerbird.reports.keywords.reading import find_event, read_candidates, read_frames, read_keywords, read_methods
from bowerbird.reports.keywords.silence import read_silence
from bowerbird.reports.status.status import read_status
from bowerbird.store.forgetting.requests import Forgetter
from bowerbird.store.forgetting.requests import Wish as ForgetWish
from failures import raises_code

FRAME = timedelta(minutes=5)
NOW = START + timedelta(minutes=1)
GIVEN = {"#flood": {"ann": "related", "bob": "related"}, "#river": {"ann": "unrelated", "bob": "unknown"}}
USE = KeywordUse(methods=("skwa", "baseline"), min_posts=2, quiet_frames=2, volume=20)


CLAIM = Estimate(mean=0.9, low=0.8, high=0.95, posts=4)


class Stage:
    """A crawl of an event whose services are searched, with two workers."""

    def __init__(self, database: Database, crawled: Crawled) -> None:
        self.database = database
        self.crawled = crawled
        self.event = EventCrawl(1, USE, database, most=10, full_services=1)
        speaks = provider("weibo")
        lanes = {number: self._lane(number, speaks) for number in (1, 2)}
        frontier = TaskFrontier(database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(minutes=1))
        self.steering = Steering(
            event=self.event,
            targets=Targets(frontier, ServedLanes(lanes), Scheduler(RateLimits())),
            searches=(Searches({"hashtag": 1}, speaks),),
            probes=(Searches({"hashtag": 2}, speaks),),
            most_probes=5,
        )
        self.clock = RealClock(system=lambda: NOW, steady=lambda: 0.0)
        self.tally = Tally(NOW)

    def loop(self) -> KeywordLoop:
        """The loop of a worker."""
        keeping = Keeping(self.database, self.clock, WorkerClaims(lambda: 1), self.tally)
        return KeywordLoop(self.steering, keeping)

    def _lane(self, number: int, speaks: Any) -> Lane:
        facet = speaks.facets["hashtag"]
        seeder = FlowSeeder(Flow(name="event", facets=()), {})
        first = ranker("fifo", {}, None, RankerSetting(facet, (), "fifo", (), 0, None, None))
        return Lane(lane=number, service=X, provider=speaks, facet=facet, ranker=first, seeder=seeder)

    async def begin(self, *seeds: str, now: Any = NOW) -> Stage:
        async with self.database.transaction() as tx:
            await self.event.begin(tx, seeds, now)
        return self

    async def hear(self, page: Page, choose: Sieve, after: timedelta = timedelta(0)) -> Page:
        """Saves a page as a stream does."""
        now = NOW + after
        self.crawled.call += 1
        store = self.crawled.store
        async with self.database.transaction() as tx:
            page = await choose.sift(tx, (), store.clean(page), X, now)
            saved = await store.hear(tx, page, service=X, facet=FIREHOSE, call=self.crawled.call, now=now)
            await choose.note(tx, (), page, saved, now)
        return page

    async def decide(self, number: int = 0) -> bool:
        return await self.loop().decide(self.start + number * FRAME)

    async def frame(self, number: int = 0) -> Frame:
        """A frame as the first method sees it."""
        async with self.database.reading() as tx:
            methods = await rows.read_methods(tx, 1)
            stored = await read_frame(tx, self.database, 1, self.start + number * FRAME, FRAME, methods, full_services=1)
        return frames_of(stored, methods)[methods[0].method]

    @property
    def start(self) -> Any:
        return self.event.grid.start_of(START)

    @property
    def full(self) -> Sieve:
        return self.event.stream_filter(is_filtered=False)

    @property
    def filtered(self) -> Sieve:
        return self.event.stream_filter(is_filtered=True)

    async def values(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.crawled.rows(sql)]


@pytest.fixture
async def stage(database: Database) -> Stage:
    crawled = await Crawled(database).register()
    async with database.transaction() as tx:
        for _ in range(2):
            await registry.enrol_worker(tx, "c", NOW)
        await registry.enrol_crawl(tx, "event", "{}", "{}", NOW)
        for facet in ("hashtag", "probe hashtag"):
            await registry.enrol_lane(tx, 1, 1, facet)
    return Stage(database, crawled)


def estimate(state: State, frame: Frame, settings: Settings) -> Decision:
    """A method that claims a precision for its only keyword."""
    keywords = {term: structs.replace(keyword, precision=CLAIM) for term, keyword in state.keywords.items()}
    candidate = Candidate(term="#rain", counts=(1,), verdict="unlike the event")
    return Decision(state=structs.replace(state, keywords=keywords, precision=CLAIM), candidates=(candidate,))


def fail(state: State, frame: Frame, settings: Settings) -> Decision:
    raise KeyError("a term")


def fail_to_estimate(state: State, frame: Frame, settings: Settings) -> Decision:
    return Decision(state=structs.replace(state, precision=structs.replace(CLAIM, mean=float("nan"))))


class Interrupted:
    """A method during which a user pins a term."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._loop = asyncio.get_running_loop()

    def __call__(self, state: State, frame: Frame, settings: Settings) -> Decision:
        asyncio.run_coroutine_threadsafe(self._pin(), self._loop).result()
        return estimate(state, frame, settings)

    async def _pin(self) -> None:
        async with self._stage.database.transaction() as tx:
            await apply_order(tx, 1, "pin", "#mud", "ada", NOW)


class Overtaken:
    """A method during whose first decision another worker decides the frame."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._loop = asyncio.get_running_loop()
        self.other: bool | None = None

    def __call__(self, state: State, frame: Frame, settings: Settings) -> Decision:
        if self.other is None:
            self.other = False
            self.other = asyncio.run_coroutine_threadsafe(self._stage.decide(), self._loop).result()
        return make_method("skwa")(state, frame, settings)


class Forgetting:
    """A method during which an account is forgotten whose name it has learned."""

    def __init__(self, stage: Stage, user_no: int) -> None:
        self._stage = stage
        self._user_no = user_no
        self._loop = asyncio.get_running_loop()

    def __call__(self, state: State, frame: Frame, settings: Settings) -> Decision:
        wish = ForgetWish(who="she", why="asked", users=frozenset({self._user_no}))
        forgetting = Forgetter(self._stage.database, self._stage.clock).forget(wish)
        asyncio.run_coroutine_threadsafe(forgetting, self._loop).result()
        decision = estimate(state, frame, settings)
        return structs.replace(decision, state=structs.replace(decision.state, memory=b"wanda"))


def texts(posts: Sequence[Post]) -> list[str]:
    return [" ".join(token for token in each.reading.tokens if token[0] != "@") for each in posts]


def at(page: Page, when: datetime) -> Page:
    return structs.replace(page, posts=tuple(structs.replace(each, created_at=when) for each in page.posts))


def said(*texts: str, first: int = 10) -> Page:
    """Posts with these texts and the hashtags in them."""
    posts = []
    for number, text in enumerate(texts, first):
        tags = tuple(word[1:] for word in text.split() if word.startswith("#"))
        posts.append(post(str(number), text=text, tags=tags, created_at=NOW))
    return Page(users=(user("1"),), posts=tuple(posts))


async def test_full_stream_stores_matching_posts_and_counts_all(stage: Stage) -> None:
    await stage.begin("#Flood", "old town")
    page = said("help @bob #flood", "what a day", "the OLD  town is dry", "town of old")
    gone = (Gone(Subject.POST, "99", Outcome.NOT_FOUND), Gone(Subject.USER, "77", Outcome.SUSPENDED))
    heard = Page(users=(user("1"), user("2")), posts=page.posts, gone=gone)
    kept = await stage.hear(heard, stage.full)
    assert [each.text for each in kept.posts] == ["help @bob #flood", "the OLD  town is dry"]
    assert [each.key for each in kept.users] == ["1"]
    assert kept.gone == ()
    assert await stage.values("select text from posts order by text") == [("help @bob #flood",), ("the OLD  town is dry",)]
    assert await stage.values("select count(*), min(methods), max(methods) from keyword_posts") == [(2, 3, 3)]
    assert await stage.values("select heard from keyword_frames") == [(4,)]


async def test_full_stream_stores_posts_inside_kept_payloads(stage: Stage) -> None:
    await stage.begin("#flood")
    choose = stage.full
    deepest = post("30", text="words of another", raw=b'{"id":30,"text":"words of another"}')
    quote = post("20", text="look #flood", kind=PostKind.QUOTE, quote_of="x:30", raw=b'{"id":20,"quoted":%s}' % deepest.raw)
    passed_on = post("10", text=None, kind=PostKind.REPOST, repost_of="x:20", raw=b'{"of":%s}' % quote.raw)
    named = post("40", text="only named", raw=b'{"id":40}')
    naming = post("41", text="and #flood", tags=("flood",), kind=PostKind.QUOTE, quote_of="x:40", raw=b'{"id":41}')
    page = Page(users=(user("1"),), posts=(passed_on, quote, deepest, named, naming), along=frozenset({"x:20"}))
    kept = await stage.hear(page, choose)
    assert [each.key for each in kept.posts] == ["10", "41", "20", "30"]
    assert kept.along == {"x:20", "x:30"}
    assert await stage.values("select count(*) from keyword_posts") == [(2,)]
    await stage.crawled.save(Page(gone=(Gone(Subject.POST, "30", Outcome.NOT_FOUND),)), POSTS, "30")
    assert await stage.values("select id from posts where raw is not null or frame is not null") == [("x:41",)]


async def test_full_stream_keeps_deletions_of_stored_posts_only(stage: Stage) -> None:
    await stage.begin("#flood")
    choose = stage.full
    await stage.hear(said("help #flood", "nothing"), choose)
    gone = tuple(Gone(Subject.POST, f"x:{key}", Outcome.NOT_FOUND) for key in ("10", "11"))
    kept = await stage.hear(Page(gone=gone), choose)
    assert [each.key for each in kept.gone] == ["x:10"]


async def test_decision_writes_entries_states_candidates_and_searches(stage: Stage) -> None:
    await stage.begin("#flood")
    page = said("a #flood #river", "b #flood #river", "c #flood #rain", "d #flood")
    await stage.hear(page, stage.filtered)
    assert await stage.decide()
    async with stage.database.reading() as tx:
        crawl, name = await find_event(tx, None)
        lines = await read_keywords(tx, crawl)
        methods = {each.name: each for each in await read_methods(tx, crawl)}
        frames = await read_frames(tx, crawl, 10)
        explained = await explain(tx, crawl, "#river")
        beside = await related_terms(tx, crawl, "#flood")
    skwa = methods["skwa"]
    assert name == "event"
    assert [(each.term, each.method) for each in lines] == [("#flood", "skwa"), ("#flood", "baseline"), ("#river", "skwa")]
    assert [(each.posts_collected, each.posts_in_frame) for each in lines if each.method == "skwa"] == [(4, 4), (2, 2)]
    assert (skwa.posts_collected, skwa.posts_only_it_found, skwa.shared) == (4, 0, {"baseline": 4})
    (frame,) = frames
    assert (frame.posts, frame.entered, frame.cap, frame.lost) == ({"skwa": 4, "baseline": 4}, ["#river"], 100, 0)
    assert {each.precision for each in methods.values()} == {None}
    assert [(each.verdict, sum(each.counts)) for each in explained.looked_at] == [("enters", 2)]
    assert explained.entries[0].numbers == {"posts_in_frame": 2, "rank": 1}
    assert [(each.term, each.method, each.together, each.share) for each in beside] == [("#river", "skwa", 2, 0.5)]
    assert await stage.values("select target from tasks where lane = 1 order by target") == [("flood",), ("river",)]


async def test_frame_contains_posts_of_its_method_and_earlier_ones_oldest_first(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("b #flood", "a #flood"), stage.filtered)
    await stage.decide()
    async with stage.database.transaction() as tx:
        await apply_order(tx, 1, "pin", "#Água", "ada", NOW)
    late = at(said("c #flood", "d #água", "e #Água", "f #água", first=20), NOW + FRAME)
    await stage.hear(late, stage.filtered, FRAME)
    frame = await stage.frame(1)
    assert texts(frame.posts) == ["c #flood", "d #agua", "e #agua", "f #agua"]
    assert texts(frame.earlier) == ["b #flood", "a #flood"]
    assert frame.spellings == {"#agua": ("#água",)}


async def test_frame_without_deleted_posts_and_opted_out_authors(stage: Stage) -> None:
    await stage.begin("#flood")
    page = said("a #flood", "b #flood", "c #flood")
    posts = (*page.posts[:2], structs.replace(page.posts[2], author="x:2"))
    await stage.hear(Page(users=(user("1"), user("2")), posts=posts), stage.filtered)
    await stage.crawled.save(Page(gone=(Gone(Subject.POST, "11", Outcome.NOT_FOUND),)), POSTS, "11")
    async with stage.database.transaction() as tx:
        await tx.execute("update users set opts_out = 1 where id = 'x:2'")
    assert texts((await stage.frame(0)).posts) == ["a #flood"]
    assert texts((await stage.frame(1)).earlier) == ["a #flood"]


async def test_late_post_counts_in_the_oldest_open_frame_and_an_older_one_in_none(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.decide()
    second = stage.start + FRAME
    for number, when in ((10, second - timedelta(minutes=1)), (20, second - timedelta(minutes=4))):
        await stage.hear(at(said("a #flood", first=number), when), stage.filtered, FRAME)
    assert await stage.values("select frame from keyword_posts order by at") == [(None,), (to_micros(second),)]
    frame = await stage.frame(1)
    assert [(each.at,) for each in frame.posts] == [(second - timedelta(minutes=1),)]
    assert [(each.at,) for each in frame.earlier] == [(second - timedelta(minutes=4),)]


async def test_post_found_by_a_search_belongs_to_its_keyword(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.steering.catch_up(NOW)
    page, choose = said("without the hashtag"), stage.event.queue_filter("hashtag")
    assert choose is not None
    async with stage.database.transaction() as tx:
        saved = await stage.crawled.store.hear(tx, page, service=X, facet=FIREHOSE, call=1, now=NOW)
        await choose.note(tx, [_task(1, 1, "flood")], page, saved, NOW)
    assert await stage.values("select methods from keyword_posts") == [(3,)]


async def test_names_reach_neither_samples_nor_probes(stage: Stage) -> None:
    await stage.begin("#flood")
    page = said("hello @bob")
    named = structs.replace(page, users=(structs.replace(page.users[0], handle="ann"),))
    await stage.hear(named, stage.full)
    async with stage.database.transaction() as tx:
        await stage.steering.follow(tx, [["#river"]], NOW)
        await stage.event.probe_filter().sift(tx, [_task(1, 2, "river")], named, X, NOW)
    assert await stage.values("select terms from keyword_samples") == [("hello",)]
    ((found,),) = await stage.values("select found from keyword_probes")
    assert "hello" in found
    assert not any(name in found for name in ("ann", "bob"))


async def test_keyword_with_an_erased_name_is_not_followed(stage: Stage) -> None:
    await stage.begin("#flood", "@ann")
    async with stage.database.transaction() as tx:
        (method, *_) = await rows.read_methods(tx, 1)
        spelled = Keyword(spellings=("#flõod", "@ann"))
        state = structs.replace(method.state, keywords={**method.state.keywords, "#flood": spelled}, pool={"@ann": Keyword()})
        await rows.save_state(tx, 1, method.method, method.state.keywords.keys(), state, at=NOW)
        await tx.execute("update keyword_methods set state = replace(state, '@ann', '[forgotten]')")
        methods = await rows.read_methods(tx, 1)
    assert rows.rank_spellings(methods) == ["#flood", "#flõod"]
    assert methods[0].state.seeds == ("#flood",)
    assert methods[0].state.pool == {}


async def test_mark_of_an_erased_name_is_no_term(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("high #flood says the mayor", "the mayor says stay"), stage.full)
    async with stage.database.transaction() as tx:
        await tx.execute("update posts set text = replace(text, 'mayor', '[forgotten]')")
        await tx.execute("update keyword_samples set terms = replace(terms, 'mayor', '[forgotten]')")
    frame = await stage.frame()
    assert texts(frame.posts) == ["high #flood says the"]
    assert texts(frame.background) == ["high #flood says the", "the says stay"]


async def test_dropped_method_ends_and_a_new_one_has_a_bit_of_its_own(stage: Stage) -> None:
    await stage.begin("#flood")
    for names in (("baseline", "naive"), ("baseline", "rkwa")):
        async with stage.database.transaction() as tx:
            await EventCrawl(1, KeywordUse(methods=names), stage.database, most=10).begin(tx, ("#flood",), NOW)
    assert await stage.values("select name, bit, until is null from keyword_methods order by bit, name") == [
        ("skwa", 0, False), ("baseline", 1, True), ("naive", 2, False), ("rkwa", 3, True)
    ]  # fmt: skip
    assert await stage.values("select count(*) from keywords where until is null and method = 1") == [(0,)]
    await stage.begin("#flood")
    assert await stage.values("select name, bit from keyword_methods where until is null order by bit") == [
        ("skwa", 0), ("baseline", 1)
    ]  # fmt: skip


async def test_edited_post_is_read_again(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood"), stage.filtered)
    async with stage.database.transaction() as tx:
        await tx.execute("update posts set text = 'edited #flood'")
    assert texts((await stage.frame()).posts) == ["edited #flood"]


async def test_background_is_a_sample_of_everything_without_names(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("help @bob #flood", "what a day"), stage.full)
    frame = await stage.frame()
    assert texts(frame.background) == ["help #flood", "what a day"]
    assert frame.volumes == (2,)
    await stage.decide()
    later = at(said("good night", first=20), NOW + FRAME)
    await stage.hear(later, stage.full, FRAME)
    frame = await stage.frame(1)
    assert texts(frame.background) == ["help #flood", "what a day", "good night"]
    assert frame.volumes == (2, 1)


async def test_post_that_is_received_again_is_sampled_once(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("what a day", "good night"), stage.full)
    await stage.hear(said("what a day", "good night", "and rain"), stage.full)
    rows = await stage.values("select terms from keyword_samples order by at, terms")
    assert rows == [("and rain",), ("good night",), ("what a day",)]


async def test_samples_beyond_the_share_and_older_than_a_day_are_deleted(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        values = [(to_micros(when), draw) for when, draw in ((NOW - timedelta(days=2), 0.0), (NOW, 0.5), (NOW, 0.1))]
        await tx.execute_many("insert into keyword_samples (crawl, at, draw, terms) values (1, ?, ?, 'rain')", values)
        await tx.execute(
            "insert into keyword_frames (crawl, frame, ends, heard, visits, rate) values (1, ?, ?, 30000, 0, 0)",
            to_micros(stage.start),
            to_micros(stage.start + FRAME),
        )
    await stage.decide()
    assert await stage.values("select draw from keyword_samples") == [(0.1,)]
    assert await stage.values("select share from keyword_progress") == [(0.2,)]
    assert await stage.values("select heard, volume, sampled from keyword_frames") == [(30_000, 30_000, 1)]


async def test_volumes_end_at_a_missed_frame(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        for number, decided in ((0, 1), (1, None), (2, 1), (3, None)):
            start = to_micros(stage.start + number * FRAME)
            await tx.execute(
                "insert into keyword_frames (crawl, frame, ends, heard, visits, rate, decided_at) values (1, ?, ?, ?, 0, 0, ?)",
                *(start, start, 10 * (number + 1), decided),
            )
    assert (await stage.frame(3)).volumes == (30, 40)


async def test_volume_of_public_timeline_is_estimated_by_its_pages(stage: Stage) -> None:
    await stage.begin("#flood")
    page = said(*(f"post {number}" for number in range(11)))
    posts = tuple(structs.replace(each, created_at=NOW - timedelta(seconds=number)) for number, each in enumerate(page.posts))
    cut_off = structs.replace(page, posts=posts, cursor="more")
    async with stage.database.transaction() as tx:
        await stage.full.sift(tx, [_task(1, 3, "all")], cut_off, X, NOW)
    assert (await stage.frame()).volumes == (300,)
    whole = structs.replace(_task(1, 3, "all"), progress=Progress(newest="1"), visited_at=NOW - timedelta(seconds=22))
    async with stage.database.transaction() as tx:
        await stage.full.sift(tx, [whole], page, X, NOW)
    assert (await stage.frame()).volumes == (round((1 + 0.5) / 2 * 300),)


async def test_posts_that_a_timeline_shows_again_are_counted_once(stage: Stage) -> None:
    await stage.begin("#flood")
    page = at(said("first", "second"), NOW)
    news = at(said("third", first=20), NOW + timedelta(seconds=30))
    both = Page(users=page.users, posts=(*news.posts, *page.posts))
    again = structs.replace(_task(1, 3, "all"), visited_at=NOW)
    async with stage.database.transaction() as tx:
        await stage.full.sift(tx, [_task(1, 3, "all")], page, X, NOW)
        await stage.full.sift(tx, [again], both, X, NOW + timedelta(minutes=1))
    assert await stage.values("select heard from keyword_frames") == [(3,)]
    assert texts((await stage.frame()).background) == ["first", "second", "third"]


async def test_probe_reaches_the_next_frame_once(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        await stage.steering.follow(tx, [["#river"]], NOW)
        await stage.event.probe_filter().sift(tx, [_task(1, 2, "river")], said("wet @bob #river", "#river high"), X, NOW)
    (probe,) = (await stage.frame()).probes
    assert (probe.term, probe.at, sorted(texts(probe.posts))) == ("#river", NOW, ["#river high", "wet #river"])
    await stage.decide()
    assert (await stage.frame(1)).probes == ()
    assert await stage.values("select count(*) from keyword_probes where found is not null") == [(0,)]


async def test_probe_whose_posts_were_deleted_reaches_no_frame(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        await stage.steering.follow(tx, [["#river"]], NOW)
        await stage.event.probe_filter().sift(tx, [_task(1, 2, "river")], said("wet #river"), X, NOW)
    # When the crawl ends, and a day later, the posts of probes are deleted.
    await stage.begin("#flood", now=NOW + timedelta(days=2))
    assert (await stage.frame()).probes == ()


async def test_decision_after_a_change_by_a_user_is_discarded(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river"), stage.filtered)
    stage.event.methods = {"skwa": Interrupted(stage)}
    assert not await stage.decide()
    assert await stage.values("select count(*) from keyword_decisions") == [(0,)]
    stage.event.methods = {"skwa": estimate}
    assert await stage.decide()
    assert {term for (term,) in await stage.values("select term from keywords where until is null")} == {"#flood", "#mud"}


async def test_forgetting_empties_memories_and_discards_the_decision_under_way(stage: Stage) -> None:
    await stage.begin("#flood")
    page = said("a #flood")
    page = structs.replace(page, users=(structs.replace(page.users[0], handle="wanda"),))
    await stage.hear(page, stage.filtered)
    async with stage.database.transaction() as tx:
        (method, *_) = await rows.read_methods(tx, 1)
        state = structs.replace(method.state, memory=b"wanda", precision=CLAIM)
        await rows.save_state(tx, 1, method.method, state.keywords.keys(), state, at=NOW)
        (known,) = await tx.fetch("select user_no from users")
    stage.event.methods = {"skwa": Forgetting(stage, known["user_no"])}
    assert not await stage.decide()
    async with stage.database.reading() as tx:
        (method, *_) = await rows.read_methods(tx, 1)
    assert method.state.memory == b""
    assert method.state.precision == CLAIM
    assert set(method.state.keywords) == {"#flood"}
    assert await stage.values("select count(*) from keyword_decisions") == [(0,)]


async def test_every_order_changes_the_version(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        before = await rows.read_progress(tx, 1)
        # An order locks the version even if it changes no keyword.
        assert await apply_order(tx, 1, "free", "#mud", "ada", NOW) == []
        assert (await rows.read_progress(tx, 1)).version == before.version + 1


async def test_opted_out_authors_reach_neither_samples_nor_probes(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.crawled.save(Page(users=(structs.replace(user("3"), opts_out=True),)), POSTS, "3")
    page = said("kept", "stored as opted out", "says so", "passed on")
    wish = structs.replace(user("2"), opts_out=True)
    original = post("50", text="an original", author="3", created_at=NOW)
    posts = (
        page.posts[0],
        structs.replace(page.posts[1], author="x:3"),
        structs.replace(page.posts[2], author="x:2"),
        structs.replace(page.posts[3], text=None, kind=PostKind.REPOST, repost_of="x:50"),
        original,
    )
    page = Page(users=(user("1"), wish, user("3")), posts=posts)
    await stage.hear(page, stage.full)
    async with stage.database.transaction() as tx:
        await stage.steering.follow(tx, [["#river"]], NOW)
        await stage.event.probe_filter().sift(tx, [_task(1, 2, "river")], page, X, NOW)
    assert await stage.values("select terms from keyword_samples") == [("kept",)]
    assert await stage.values("select heard from keyword_frames") == [(5,)]
    assert await stage.values("select posts from keyword_probes") == [(1,)]


async def test_samples_and_probes_of_a_stopped_crawl_are_deleted_after_a_day(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        await registry.enrol_crawl(tx, "other", "{}", "{}", NOW)
        old = to_micros(NOW - timedelta(days=2))
        await tx.execute("insert into keyword_samples (crawl, at, draw, terms) values (2, ?, 0.1, 'rain')", old)
        await tx.execute(
            "insert into keyword_probes (crawl, term, lane, target, asked_at, answered_at, posts, found) "
            "values (2, '#rain', 2, 'rain', ?, ?, 1, '[]')", old, old
        )  # fmt: skip
    await stage.begin("#flood")
    assert await stage.values("select count(*) from keyword_samples") == [(0,)]
    assert await stage.values("select posts, found from keyword_probes") == [(1, None)]


async def test_seed_that_was_a_keyword_changes_the_version(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        await apply_order(tx, 1, "pin", "#rain", "ada", NOW)
        before = await rows.read_progress(tx, 1)
    await stage.begin("#flood", "#rain")
    async with stage.database.reading() as tx:
        assert (await rows.read_progress(tx, 1)).version > before.version


async def test_new_and_resumed_methods_follow_the_orders_of_users(stage: Stage) -> None:
    await stage.begin("#flood", "#mud")
    async with stage.database.transaction() as tx:
        for names in (("skwa",), ("skwa", "naive", "baseline")):
            await EventCrawl(1, KeywordUse(methods=names), stage.database, most=10).begin(tx, ("#flood", "#mud"), NOW)
            if names == ("skwa",):
                await apply_order(tx, 1, "pin", "#rain", "ada", NOW)
                await apply_order(tx, 1, "block", "#mud", "ada", NOW)
        states = {row.name: row.state for row in await rows.read_methods(tx, 1)}
    assert {name: sorted(state.keywords) for name, state in states.items()} == {
        "skwa": ["#flood", "#rain"], "baseline": ["#flood", "#rain"], "naive": ["#flood", "#rain"]
    }  # fmt: skip
    assert {state.blocked for state in states.values()} == {("#mud",)}
    followed = await stage.values("select method, term from keywords where until is null order by method, term")
    assert followed == [(number, term) for number in (1, 2, 3) for term in ("#flood", "#rain")]


async def test_frame_with_very_many_posts_is_a_sample_of_them(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said(*(f"post {number} #flood" for number in range(10))), stage.filtered)
    async with stage.database.reading() as tx:
        stored = await read_frame(tx, stage.database, 1, stage.start, FRAME, [], full_services=0, most_posts=4)
    assert len(stored.posts) == 4
    assert stored.collected == 10


async def test_frames_decided_by_a_clock_that_was_ahead_do_not_stop_the_crawl(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood"), stage.filtered)
    assert await stage.decide()
    async with stage.database.transaction() as tx:
        await tx.execute("update keyword_progress set decided = ?", to_micros(NOW + timedelta(days=400)))
    await stage.begin("#flood")
    async with stage.database.reading() as tx:
        assert (await rows.read_progress(tx, 1)).decided == stage.start - FRAME
    # The frame was decided before; its decision stays as it was.
    assert await stage.decide()
    assert await stage.values("select count(*) from keyword_decisions") == [(2,)]


async def test_claimed_precision_is_stored_and_reported(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #rain", "b #flood"), stage.filtered)
    stage.event.methods = {"skwa": estimate}
    assert await stage.decide()
    async with stage.database.reading() as tx:
        lines = {each.term: each.precision for each in await read_keywords(tx, 1) if each.method == "skwa"}
        (skwa, _) = await read_methods(tx, 1)
        candidates = await read_candidates(tx, 1)
    assert lines == {"#flood": CLAIM}
    assert skwa.precision == CLAIM
    assert [(each.term, each.posts_in_frame, each.verdict) for each in candidates] == [("#rain", 1, "unlike the event")]


async def test_failed_method_keeps_its_keywords_and_the_loop_goes_on(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river"), stage.filtered)
    skwa = stage.event.methods["skwa"]
    stage.event.methods["skwa"] = fail
    assert await stage.decide()
    status = await read_status(stage.database, NOW)
    (error,) = status.summary.errors
    assert error.part == "keywords"
    for value in ("skwa", "KeyError"):
        assert value in error.message
        assert value in stage.tally.trouble
    assert await stage.values("select term from keywords where method = 1 and until is null") == [("#flood",)]
    assert await stage.values("select distinct method from keyword_candidates") == [(2,)]
    stage.event.methods["skwa"] = skwa
    await stage.hear(at(said("c #flood #rain", "d #flood #rain", first=20), NOW + FRAME), stage.filtered, FRAME)
    assert await stage.decide(1)
    assert await stage.values("select term from keywords where method = 1 and until is null order by term") == [
        ("#flood",), ("#rain",)
    ]  # fmt: skip


async def test_state_that_cannot_be_stored_is_not_saved(stage: Stage) -> None:
    await stage.begin("#flood")
    stage.event.methods["skwa"] = fail_to_estimate
    assert await stage.decide()
    assert "skwa" in stage.tally.trouble
    async with stage.database.reading() as tx:
        assert (await rows.read_methods(tx, 1))[0].state.precision is None


async def test_hashtag_that_is_too_long_for_a_keyword_does_not_enter(stage: Stage) -> None:
    await stage.begin("#flood")
    tag = "#" + "a" * 101
    await stage.hear(said(f"a #flood {tag}", f"b #flood {tag}"), stage.filtered)
    await stage.hear(at(said(f"c #flood {tag}", f"d #flood {tag}", first=20), NOW + FRAME), stage.filtered, FRAME)
    assert await stage.decide()
    assert await stage.decide(1)
    assert await stage.values("select distinct term from keywords") == [("#flood",)]


async def test_old_candidates_and_probes_are_deleted(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood"), stage.filtered)
    old, kept = (to_micros(stage.start - number * FRAME) for number in (KEPT_FRAMES, KEPT_FRAMES - 1))
    async with stage.database.transaction() as tx:
        for frame in (old, kept):
            await tx.execute(
                "insert into keyword_candidates (method, frame, term, counts, verdict, numbers, together) "
                "values (1, ?, '#rain', '[]', 'full', '{}', '{}')", frame
            )  # fmt: skip
            await tx.execute(
                "insert into keyword_probes (crawl, term, lane, target, asked_at, answered_at, used_at, posts) "
                "values (1, '#rain', 2, 'rain', ?, ?, ?, 1)", frame, frame, frame
            )  # fmt: skip
    await stage.decide()
    assert await stage.values("select frame from keyword_candidates where term = '#rain'") == [(kept,)]
    assert await stage.values("select asked_at from keyword_probes") == [(kept,)]


async def test_exit_retires_search_and_has_reason(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river"), stage.filtered)
    for number in range(3):
        await stage.decide(number)
    ((term, why),) = await stage.values("select term, until_why from keywords where until is not null")
    assert (term, re.findall(r"\d+", why)) == ("#river", ["2", "2"]), "posts, and frames"
    assert await stage.values("select target, state from tasks where lane = 1 order by target") == [
        ("flood", "waiting"), ("river", "retired")
    ]  # fmt: skip


async def test_frame_is_decided_by_one_of_two_workers(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river"), stage.filtered)
    method = Overtaken(stage)
    stage.event.methods = {"skwa": method}
    assert not await stage.decide()
    assert method.other is True
    # A worker that begins after the decision does not repeat it.
    assert not await stage.decide()
    async with stage.database.reading() as tx:
        (row, _) = await rows.read_methods(tx, 1)
    assert row.state.frames == 1
    assert set(row.state.keywords) == {"#flood", "#river"}


async def test_frame_during_downtime_is_missed(stage: Stage) -> None:
    await stage.begin("#flood")
    later = NOW + timedelta(hours=1)
    await stage.begin("#flood", now=later)
    async with stage.database.reading() as tx:
        progress = await rows.read_progress(tx, 1)
    assert progress.decided == stage.event.grid.start_of(later) - FRAME
    await stage.hear(said("an hour old #flood"), stage.filtered, timedelta(hours=1))
    assert await stage.values("select frame, methods from keyword_posts") == [(None, 3)]


async def test_filtered_stream_subscribes_to_spellings_with_accents(stage: Stage) -> None:
    await stage.begin("#Inundación")
    texts = [f"{number} #inundacion #Água" for number in range(3)]
    await stage.hear(said(*texts), stage.filtered)
    await stage.decide()
    async with stage.database.reading() as tx:
        methods = await rows.read_methods(tx, 1)
    assert rows.rank_keywords(methods) == ["#inundacion", "#agua"]
    assert rows.rank_spellings(methods) == ["#inundacion", "#inundación", "#agua", "#água"]
    # Taken up again, nothing is told twice.
    await stage.begin("#Inundación")
    async with stage.database.reading() as tx:
        assert rows.rank_spellings(await rows.read_methods(tx, 1)) == rows.rank_spellings(methods)


async def test_event_without_posts_is_reported(stage: Stage) -> None:
    await stage.begin("#flood")
    told = []
    for number in range(4):
        if number == 3:
            late = NOW + 3 * FRAME
            page = Page(users=(user("1"),), posts=(post("90", text="good morning", created_at=late),))
            await stage.hear(page, stage.full, 3 * FRAME)
        await stage.decide(number)
        async with stage.database.reading() as tx:
            told.append(await read_silence(tx, 1))
            (method, *_) = await read_method_counts(tx)
        assert method.silence == told[-1]
    assert told[:2] == ["", ""]
    numbers = [re.findall(r"\d+", each) for each in told[2:]]
    assert numbers == [["3"], ["1", "3"]], "frames; posts that were heard, and frames"


async def test_first_start_needs_a_seed_and_a_restart_does_not(stage: Stage) -> None:
    with raises_code(UserError, "no_seeds"):
        await stage.begin()
    await stage.begin("#flood")
    await stage.begin()
    assert await stage.values("select distinct term from keywords where until is null") == [("#flood",)]


async def test_changed_seeds_enter_and_leave(stage: Stage) -> None:
    await stage.begin("#flood", "#rain")
    await stage.begin("#rain", "#storm")
    assert await stage.values("select distinct term from keywords where until is null order by term") == [("#rain",), ("#storm",)]
    ((term, why),) = await stage.values("select distinct term, until_why from keywords where until is not null")
    assert (term, bool(why)) == ("#flood", True)


async def test_pinned_seed_stays_when_the_file_drops_it(stage: Stage) -> None:
    await stage.begin("#flood", "#rain")
    async with stage.database.transaction() as tx:
        await apply_order(tx, 1, "pin", "#rain", "ada", NOW)
    await stage.begin("#flood")
    assert await stage.values("select distinct term from keywords where until is null order by term") == [("#flood",), ("#rain",)]


async def test_orders_apply_at_once_and_are_recorded(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        assert await apply_order(tx, 1, "pin", "#River", "ada", NOW) == ["skwa", "baseline"]
        assert await apply_order(tx, 1, "block", "#flood", "ada", NOW) == ["skwa", "baseline"]
        with raises_code(UserError, "invalid") as caught:
            await apply_order(tx, 1, "pin", "!!", "ada", NOW)
        assert "'!!'" in caught.value.problem
    assert await stage.values("select who, term, said from keyword_orders order by keyword_order") == [
        ("ada", "#river", "pin"), ("ada", "#flood", "block")
    ]  # fmt: skip
    kept = await stage.hear(said("a #flood", "a #river"), stage.full)
    assert [each.text for each in kept.posts] == ["a #river"]
    await stage.steering.catch_up(NOW)
    assert await stage.values("select target from tasks where lane = 1") == [("river",)]


class FullTrack:
    """A stream that hears one keyword."""

    wanted = Subscription(channel="filter", options={"track": ("#flood",)}, name="keywords")

    async def retune(self, wanted: Subscription, reason: Reason) -> bool:
        raise AssertionError("nothing to hear")


async def test_stream_keeps_its_keywords_if_the_network_would_refuse_the_new_ones(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        await apply_order(tx, 1, "block", "#flood", "ada", NOW)
    speaks = provider("twitter_v1")
    steering = structs.replace(stage.steering, streams=[(FullTrack(), speaks)])
    (problem,) = await steering.catch_up(NOW)
    assert all(value in problem for value in ("filter", "track", "follow"))


async def test_probe_is_answered_once_and_cancelled_when_late(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        await stage.steering.follow(tx, [["#river", "#rain"], ["#rain", "#mud"]], NOW)
    assert await stage.values("select term from keyword_probes order by probe") == [("#river",), ("#rain",), ("#mud",)]
    assert await stage.values("select target from tasks where lane = 2 order by target") == [("mud",), ("rain",), ("river",)]
    choose = stage.event.probe_filter()
    async with stage.database.transaction() as tx:
        (task,) = await tx.fetch("select task, lane, target from tasks where target = 'river'")
    asked = _task(task["task"], task["lane"], task["target"])
    async with stage.database.transaction() as tx:
        kept = await choose.sift(tx, [asked], said("wet #river", "#river and #flood"), X, NOW)
        await stage.steering.follow(tx, [["#rain"]], NOW)
    assert [each.text for each in kept.posts] == ["#river and #flood"]
    assert await stage.values("select term from keyword_probes where used_at is null order by probe") == [("#river",), ("#rain",)]
    assert await stage.values("select term, posts from keyword_probes where answered_at is not null") == [("#river", 2)]
    assert await stage.values("select target from tasks where state = 'retired'") == [("mud",)]


async def test_collection_is_graded_by_labels_of_several_taggers(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river", "c #flood #win #win2", "d #river"), stage.filtered)
    await stage.decide()
    with raises_code(UserError, "needs_terminal") as caught:
        async with stage.database.reading() as tx:
            await grade(tx, 1)
    assert "--labels" in caught.value.advice
    labels = [(term, tagger, label) for term, given in GIVEN.items() for tagger, label in given.items()]
    labels.append(("#floood", "ann", "related"))
    async with stage.database.transaction() as tx:
        await tx.execute_many("insert into keyword_labels (crawl, term, tagger, label, at) values (1, ?, ?, ?, 1)", labels)
    async with stage.database.reading() as tx:
        graded = await grade(tx, 1)
    assert (graded.agreement, graded.kappa) == (0.5, pytest.approx(0.3333))
    assert graded.unknown == ["#floood"], "nobody followed it"
    assert graded.categories == {"C1": 1, "C2": 0, "C3": 1, "C4": 0}
    skwa, baseline = graded.methods
    # +3 - 1.5, twice; +3 - 1 - 1; and the last has no keyword of its own day.
    assert (skwa.related, skwa.noise, skwa.retained["C3"]) == (3, 0, 1.0)
    assert (baseline.related, baseline.retained["C1"], baseline.retained["C3"]) == (3, 1.0, 0.0)


async def test_words_and_phrases_are_graded_like_hashtags(stage: Stage) -> None:
    await stage.begin("#flood", "high water", "river")
    await stage.hear(said("the river", "a river with high water", "#flood and #win", "high water #win"), stage.filtered)
    await stage.decide()
    labels = [("#flood", "related"), ("high water", "unrelated"), ("river", "related")]
    async with stage.database.transaction() as tx:
        await rows.save_labels(tx, 1, [(term, "ann", label) for term, label in labels], NOW)
    async with stage.database.reading() as tx:
        graded = await grade(tx, 1)
    assert graded.categories == {"C1": 2, "C2": 0, "C3": 1, "C4": 1}
    assert (graded.agreement, graded.kappa, graded.unlabelled) == (None, None, ["#win"])
    # +3; +3 - 3; +3 + 0; -3 + 0: `#win` became a keyword of skwa without a label.
    assert [(each.method, each.related, each.noise) for each in graded.methods] == [("skwa", 2, 2), ("baseline", 2, 2)]


async def test_noise_is_counted_by_frame(stage: Stage) -> None:
    await stage.begin("#flood")
    choose = stage.filtered
    await stage.hear(said("a #flood", "b #flood"), choose)
    await stage.decide()
    spam = said("c #flood", "d #flood #win #win2 #win3", "e #flood #w1 #w2 #w3 #w4", first=20)
    later = Page(users=spam.users, posts=tuple(structs.replace(each, created_at=NOW + FRAME) for each in spam.posts))
    await stage.hear(later, choose, FRAME)
    await stage.decide(1)
    async with stage.database.transaction() as tx:
        await tx.execute("insert into keyword_labels (crawl, term, tagger, label, at) values (1, '#flood', 'ann', 'related', 1)")
    async with stage.database.reading() as tx:
        course, (skwa, _) = await read_course(tx, None, None), (await grade(tx, 1)).methods
    first = stage.start
    told = [(each.frame, each.related, each.noise) for each in skwa.frames]
    assert told == [(first, 2, 0), (first + FRAME, 1, 2)], "+3 - 1 - 1 - 1 is not above 0"
    assert course.noise["skwa"] == {first: 0, first + FRAME: 2}


async def test_seeds_are_proposed_for_window_and_for_examples(stage: Stage) -> None:
    everyday: Sequence[str] = [f"coffee and music in the morning {number}" for number in range(30)]
    flood = [f"the river is high in the old town {number} #flood" for number in range(5)]
    page = said(*everyday, *flood)
    posts = [
        post(each.key, text=each.text, created_at=START + timedelta(hours=2) if "#flood" in (each.text or "") else START)
        for each in page.posts
    ]
    await stage.crawled.hear(Page(users=page.users, posts=tuple(posts)), service=X)
    async with stage.database.reading() as tx:
        window = (await propose(tx, stage.database.dialect, Wish(since=START + timedelta(hours=1)))).proposals
        empty = await propose(tx, stage.database.dialect, Wish(since=START + timedelta(days=9)))
        examples = Wish(examples=("mud in the harbour", "the harbour is full of mud"))
        like = (await propose(tx, stage.database.dialect, examples)).proposals
    assert (empty.posts, empty.others, empty.proposals) == (0, 35, [])
    assert (window[0].term, window[0].posts, window[0].others) == ("#flood", 5, 0)
    assert not {"the", "is", "in"} & {word for each in window for word in each.term.split(" ")}
    assert {"mud", "harbour"} <= {each.term for each in like}
    assert not {"coffee", "morning"} & {each.term for each in (*window, *like)}


def _task(number: int, lane: int, target: str) -> Task:
    return Task(task=number, lane=lane, target=target, token=1, progress=Progress())

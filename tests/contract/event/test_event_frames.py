"""Keywords of an event on both databases: what sieves keep and count, how a frame is decided, what users and taggers say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from store_pages import FIREHOSE, POSTS, START, Crawled, X, post, user

from bowerbird.crawl.life import registry
from bowerbird.crawl.process.workers.claims import WorkerClaims
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.crawl.work.lanes import Lane, ServedLanes
from bowerbird.crawl.work.scheduler import Scheduler
from bowerbird.crawl.work.targets import Targets
from bowerbird.errors import Fenced, UserError
from bowerbird.event import rows
from bowerbird.event.deciding import HOLD, Decider
from bowerbird.event.opened import OpenedEvent
from bowerbird.event.orders import obey
from bowerbird.event.probing import ProbeLane, Prober
from bowerbird.event.steering import Polled, Steering
from bowerbird.flows.flow import Flow
from bowerbird.flows.keywords import KeywordUse
from bowerbird.frontier import TaskFrontier
from bowerbird.limits.booked_ledgers import BookedLedgers
from bowerbird.model import Claim, Gone, Outcome, Page, PostKind, Progress, Subject, Task
from bowerbird.policies.registry import RankerSetting, ranker
from bowerbird.ports import Database, Sieve
from bowerbird.providers import provider
from bowerbird.reports.keywords.courses import read_course
from bowerbird.reports.keywords.explaining import explain, related_terms
from bowerbird.reports.keywords.grading import grade
from bowerbird.reports.keywords.method_counts import read_method_counts
from bowerbird.reports.keywords.proposing import Wish, propose
from bowerbird.reports.keywords.reading import find_event, read_frames, read_keywords, read_methods
from bowerbird.reports.keywords.silence import read_silence

FRAME = timedelta(minutes=5)
NOW = START + timedelta(minutes=1)
GIVEN = {"#flood": {"ann": "related", "bob": "related"}, "#river": {"ann": "unrelated", "bob": "unknown"}}
USE = KeywordUse(methods=("skwa", "baseline"), min_frequency=2, quiet_frames=2)


class Stage:
    """A crawl of an event whose services are searched, with two workers."""

    def __init__(self, database: Database, crawled: Crawled) -> None:
        self.database = database
        self.crawled = crawled
        self.event = OpenedEvent(1, USE, database, most=10, is_polled=False)
        speaks = provider("weibo")
        lanes = {number: self._lane(number, speaks) for number in (1, 2)}
        frontier = TaskFrontier(database, lambda: 1, lease=timedelta(minutes=3), call=timedelta(minutes=1))
        steering = Steering(
            crawl=1,
            database=database,
            frontier=frontier,
            targets=Targets(frontier, ServedLanes(lanes), Scheduler(BookedLedgers())),
            tuned=(),
            polled=(Polled({"hashtag": 1}, speaks, self.event.by_target),),
            prober=Prober(1, {"hashtag": ProbeLane(2, speaks)}, 5),
            cap=100,
        )
        self.decider = Decider(self.event.methods, self.event.settings, steering)
        self.steering = steering

    def _lane(self, number: int, speaks: Any) -> Lane:
        facet = speaks.facets["hashtag"]
        seeder = FlowSeeder(Flow(name="event", facets=()), {})
        first = ranker("fifo", {}, None, RankerSetting(facet, (), "fifo", (), 0, None, None))
        return Lane(lane=number, service=X, provider=speaks, facet=facet, ranker=first, seeder=seeder)

    async def begin(self, *seeds: str, now: Any = NOW) -> Stage:
        async with self.database.transaction() as tx:
            await self.event.begin(tx, seeds, now)
        return self

    async def hear(self, page: Page, sieve: Sieve, after: timedelta = timedelta(0)) -> Page:
        """Saves a page as a stream does."""
        now = NOW + after
        self.crawled.call += 1
        store = self.crawled.store
        async with self.database.transaction() as tx:
            page = await sieve.sift(tx, (), store.clean(page), X, now)
            saved = await store.hear(tx, page, service=X, facet=FIREHOSE, call=self.crawled.call, now=now)
            await sieve.note(tx, (), page, saved, now)
        return page

    async def claim(self, worker: int) -> Claim:
        async with self.database.transaction() as tx:
            claim = await WorkerClaims(lambda: worker).take(tx, "keywords 1", NOW + HOLD, NOW)
        assert isinstance(claim, Claim)
        return claim

    async def decide(self, number: int = 0, worker: int = 1) -> bool:
        began = self.event.grid.began(START) + number * FRAME
        claims = WorkerClaims(lambda: worker)
        claim = await self.claim(worker)
        decided = await self.decider.decide(began, claims, claim, began + FRAME)
        async with self.database.transaction() as tx:
            await claims.release(tx, claim)
        return decided

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


def said(*texts: str, first: int = 10) -> Page:
    """Posts with these texts and the hashtags in them."""
    posts = []
    for number, text in enumerate(texts, first):
        tags = tuple(word[1:] for word in text.split() if word.startswith("#"))
        posts.append(post(str(number), text=text, tags=tags, created_at=NOW))
    return Page(users=(user("1"),), posts=tuple(posts))


async def test_of_a_full_stream_what_no_keyword_matches_is_counted_and_not_stored(stage: Stage) -> None:
    await stage.begin("#Flood", "old town")
    page = said("help @bob #flood", "what a day", "the OLD  town is dry", "town of old")
    gone = (Gone(Subject.POST, "99", Outcome.NOT_FOUND), Gone(Subject.USER, "77", Outcome.SUSPENDED))
    heard = Page(users=(user("1"), user("2")), posts=page.posts, gone=gone)
    kept = await stage.hear(heard, stage.event.stream_sieve(is_tuned=False))
    assert [each.text for each in kept.posts] == ["help @bob #flood", "the OLD  town is dry"]
    assert [each.key for each in kept.users] == ["1"]
    assert kept.gone == ()
    assert await stage.values("select text from posts order by text") == [("help @bob #flood",), ("the OLD  town is dry",)]
    assert await stage.values("select count(*), min(methods), max(methods) from keyword_posts") == [(2, 3, 3)]
    assert await stage.values("select heard from keyword_frames") == [(4,)]
    samples = [terms for (terms,) in await stage.values("select terms from keyword_samples order by sample")]
    assert samples == ["help #flood", "what a day", "the old town is dry", "town of old"]


async def test_whatever_stands_in_a_payload_that_is_kept_is_stored_and_leaves_it_when_it_is_deleted(stage: Stage) -> None:
    await stage.begin("#flood")
    sieve = stage.event.stream_sieve(is_tuned=False)
    deepest = post("30", text="words of another", raw=b'{"id":30,"text":"words of another"}')
    quote = post("20", text="look #flood", kind=PostKind.QUOTE, quote_of="x:30", raw=b'{"id":20,"quoted":%s}' % deepest.raw)
    passed_on = post("10", text=None, kind=PostKind.REPOST, repost_of="x:20", raw=b'{"of":%s}' % quote.raw)
    named = post("40", text="only named", raw=b'{"id":40}')
    naming = post("41", text="and #flood", tags=("flood",), kind=PostKind.QUOTE, quote_of="x:40", raw=b'{"id":41}')
    page = Page(users=(user("1"),), posts=(passed_on, quote, deepest, named, naming), along=frozenset({"x:20"}))
    kept = await stage.hear(page, sieve)
    assert [each.key for each in kept.posts] == ["10", "41", "20", "30"]
    assert kept.along == {"x:20", "x:30"}
    assert await stage.values("select count(*) from keyword_posts") == [(2,)]
    await stage.crawled.save(Page(gone=(Gone(Subject.POST, "30", Outcome.NOT_FOUND),)), POSTS, "30")
    assert await stage.values("select id from posts where raw is not null or frame is not null") == [("x:41",)]


async def test_what_is_deleted_is_told_only_of_stored_posts(stage: Stage) -> None:
    await stage.begin("#flood")
    sieve = stage.event.stream_sieve(is_tuned=False)
    await stage.hear(said("help #flood", "nothing"), sieve)
    gone = tuple(Gone(Subject.POST, f"x:{key}", Outcome.NOT_FOUND) for key in ("10", "11"))
    kept = await stage.hear(Page(gone=gone), sieve)
    assert [each.key for each in kept.gone] == ["x:10"]


async def test_a_decision_writes_entries_states_candidates_and_targets_at_once(stage: Stage) -> None:
    await stage.begin("#flood")
    page = said("a #flood #river", "b #flood #river", "c #flood #rain", "d #flood")
    await stage.hear(page, stage.event.stream_sieve(is_tuned=True))
    assert await stage.decide()
    async with stage.database.reading() as tx:
        crawl, name = await find_event(tx, None)
        lines = await read_keywords(tx, crawl)
        methods = {each.name: each for each in await read_methods(tx, crawl)}
        frames = await read_frames(tx, crawl, 10)
        explained = await explain(tx, crawl, "#river")
        beside = await related_terms(tx, crawl, "#flood")
    assert name == "event"
    assert [(each.term, each.method) for each in lines] == [("#flood", "skwa"), ("#flood", "baseline"), ("#river", "skwa")]
    assert [(each.posts, each.last) for each in lines if each.method == "skwa"] == [(4, 4), (2, 2)]
    assert (methods["skwa"].posts, methods["skwa"].alone, methods["skwa"].shared) == (4, 0, {"baseline": 4})
    (frame,) = frames
    assert (frame.posts, frame.entered, frame.cap, frame.lost) == ({"skwa": 4, "baseline": 4}, ["#river"], 100, 0)
    assert {(methods[name].precision, methods[name].recall) for name in methods} == {(None, None)}
    assert [(each.verdict, sum(each.counts)) for each in explained.looked_at] == [("enters", 2)]
    assert explained.entries[0].numbers == {"count": 2, "rank": 1}
    assert [(each.term, each.method, each.together, each.jaccard) for each in beside] == [("#river", "skwa", 2, 0.5)]
    assert await stage.values("select target from tasks where lane = 1 order by target") == [("flood",), ("river",)]
    assert await stage.values("select count(*) from keyword_samples") == [(0,)]


async def test_a_keyword_that_leaves_is_retired_and_its_exit_has_a_reason(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river"), stage.event.stream_sieve(is_tuned=True))
    for number in range(3):
        await stage.decide(number)
    assert await stage.values("select term, until_why from keywords where until is not null") == [
        ("#river", "fewer than 2 posts in each of 2 frames in a row")
    ]
    assert await stage.values("select target, state from tasks where lane = 1 order by target") == [
        ("flood", "waiting"), ("river", "retired")
    ]  # fmt: skip


async def test_a_worker_that_lost_the_claim_writes_nothing(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(said("a #flood #river", "b #flood #river"), stage.event.stream_sieve(is_tuned=True))
    late = await stage.claim(1)
    async with stage.database.transaction() as tx:
        await WorkerClaims(lambda: 1).release(tx, late)
    assert await stage.decide(worker=2)
    began = stage.event.grid.began(START)
    with pytest.raises(Fenced):
        await stage.decider.decide(began, WorkerClaims(lambda: 1), late, NOW)
    assert await stage.values("select count(*) from keyword_decisions") == [(2,)]
    assert await stage.values("select worker from keyword_frames") == [(2,)]


async def test_a_frame_that_ended_while_nobody_watched_is_missed(stage: Stage) -> None:
    await stage.begin("#flood")
    later = NOW + timedelta(hours=1)
    await stage.begin("#flood", now=later)
    async with stage.database.reading() as tx:
        progress = await rows.read_progress(tx, 1)
    assert progress.decided == stage.event.grid.began(later) - FRAME
    await stage.hear(said("an hour old #flood"), stage.event.stream_sieve(is_tuned=True), timedelta(hours=1))
    assert await stage.values("select frame, methods from keyword_posts") == [(None, 3)]


async def test_networks_that_filter_are_asked_for_spellings_with_accents_too(stage: Stage) -> None:
    await stage.begin("#Inundación")
    texts = [f"{number} #inundacion #Água" for number in range(3)]
    await stage.hear(said(*texts), stage.event.stream_sieve(is_tuned=True))
    await stage.decide()
    async with stage.database.reading() as tx:
        methods = await rows.read_methods(tx, 1)
    assert rows.union(methods) == ["#inundacion", "#agua"]
    assert rows.heard_as(methods) == ["#inundacion", "#inundación", "#agua", "#água"]
    # Taken up again, nothing is told twice.
    await stage.begin("#Inundación")
    async with stage.database.reading() as tx:
        assert rows.heard_as(await rows.read_methods(tx, 1)) == rows.heard_as(methods)


async def test_an_event_that_brings_nothing_says_so(stage: Stage) -> None:
    await stage.begin("#flood")
    told = []
    for number in range(4):
        if number == 3:
            late = NOW + 3 * FRAME
            page = Page(users=(user("1"),), posts=(post("90", text="good morning", created_at=late),))
            await stage.hear(page, stage.event.stream_sieve(is_tuned=False), 3 * FRAME)
        await stage.decide(number)
        async with stage.database.reading() as tx:
            told.append(await read_silence(tx, 1))
            (method, *_) = await read_method_counts(tx)
        assert method.silence == told[-1]
    assert told[:2] == ["", ""]
    assert "nothing was heard in the last 3 frames" in told[2]
    assert "none of 1 posts heard in the last 3 frames carries a keyword" in told[3]


async def test_seeds_that_the_file_no_longer_names_leave_and_new_ones_come(stage: Stage) -> None:
    await stage.begin("#flood", "#rain")
    await stage.begin("#rain", "#storm")
    assert await stage.values("select distinct term from keywords where until is null order by term") == [("#rain",), ("#storm",)]
    assert await stage.values("select distinct term, until_why from keywords where until is not null") == [
        ("#flood", "the crawl file no longer names it")
    ]


async def test_what_users_say_holds_at_once_and_is_recorded(stage: Stage) -> None:
    await stage.begin("#flood")
    async with stage.database.transaction() as tx:
        assert await obey(tx, 1, "pin", "#River", "ada", NOW) == ["skwa", "baseline"]
        assert await obey(tx, 1, "block", "#flood", "ada", NOW) == ["skwa", "baseline"]
        with pytest.raises(UserError, match="is no keyword"):
            await obey(tx, 1, "pin", "!!", "ada", NOW)
    assert await stage.values("select who, term, said from keyword_orders order by keyword_order") == [
        ("ada", "#river", "pin"), ("ada", "#flood", "block")
    ]  # fmt: skip
    kept = await stage.hear(said("a #flood", "a #river"), stage.event.stream_sieve(is_tuned=False))
    assert [each.text for each in kept.posts] == ["a #river"]
    await stage.steering.catch_up(NOW)
    assert await stage.values("select target from tasks where lane = 1") == [("river",)]


async def test_a_probe_is_answered_once_and_called_off_when_it_is_late(stage: Stage) -> None:
    await stage.begin("#flood")
    prober, frontier = stage.steering.prober, stage.steering.frontier
    async with stage.database.transaction() as tx:
        first = await prober.arrange(tx, frontier, [["#river", "#rain"], ["#rain", "#mud"]], START, NOW)
        await stage.steering.targets.add(tx, first, None, NOW)
    assert [each.target for each in first] == ["river", "rain", "mud"]
    sieve = stage.event.probe_sieve()
    async with stage.database.transaction() as tx:
        (task,) = await tx.fetch("select task, lane, target from tasks where target = 'river'")
    asked = _task(task["task"], task["lane"], task["target"])
    async with stage.database.transaction() as tx:
        kept = await sieve.sift(tx, [asked], said("wet #river", "#river and #flood"), X, NOW)
        second = await prober.arrange(tx, frontier, [["#rain"]], START + FRAME, NOW)
    assert [each.text for each in kept.posts] == ["#river and #flood"]
    assert [each.target for each in second] == ["rain"]
    assert await stage.values("select term, posts from keyword_probes where answered_at is not null") == [("#river", 2)]
    assert await stage.values("select target from tasks where state = 'retired'") == [("mud",)]


async def test_a_collection_is_graded_by_the_labels_of_several_taggers(stage: Stage) -> None:
    await stage.begin("#flood")
    await stage.hear(
        said("a #flood #river", "b #flood #river", "c #flood #win #win2", "d #river"), stage.event.stream_sieve(is_tuned=True)
    )
    await stage.decide()
    with pytest.raises(UserError, match="no keyword has a label"):
        async with stage.database.reading() as tx:
            await grade(tx, 1)
    labels = [(term, tagger, label) for term, given in GIVEN.items() for tagger, label in given.items()]
    labels.append(("#floood", "ann", "related"))
    async with stage.database.transaction() as tx:
        await tx.execute_many("insert into keyword_labels (crawl, term, tagger, label, at) values (1, ?, ?, ?, 1)", labels)
    async with stage.database.reading() as tx:
        graded = await grade(tx, 1)
    assert graded.agreement == 0.5
    assert graded.unknown == ["#floood"], "nobody followed it"
    assert graded.categories == {"C1": 1, "C2": 0, "C3": 1, "C4": 0}
    skwa, baseline = graded.methods
    # +3 - 1.5, twice; +3 - 1 - 1; and the last has no keyword of its own day.
    assert (skwa.related, skwa.noise, skwa.retained["C3"]) == (3, 0, 1.0)
    assert (baseline.related, baseline.retained["C1"], baseline.retained["C3"]) == (3, 1.0, 0.0)


async def test_noise_is_told_of_the_frame_in_which_it_came(stage: Stage) -> None:
    await stage.begin("#flood")
    sieve = stage.event.stream_sieve(is_tuned=True)
    await stage.hear(said("a #flood", "b #flood"), sieve)
    await stage.decide()
    spam = said("c #flood", "d #flood #win #win2 #win3", "e #flood #w1 #w2 #w3 #w4", first=20)
    later = Page(users=spam.users, posts=tuple(structs.replace(each, created_at=NOW + FRAME) for each in spam.posts))
    await stage.hear(later, sieve, FRAME)
    await stage.decide(1)
    async with stage.database.transaction() as tx:
        await tx.execute("insert into keyword_labels (crawl, term, tagger, label, at) values (1, '#flood', 'ann', 'related', 1)")
    async with stage.database.reading() as tx:
        course, (skwa, _) = await read_course(tx, None, None), (await grade(tx, 1)).methods
    first = stage.event.grid.began(START)
    told = [(each.frame, each.related, each.noise) for each in skwa.frames]
    assert told == [(first, 2, 0), (first + FRAME, 1, 2)], "+3 - 1 - 1 - 1 is not above 0"
    assert course.noise["skwa"] == {first: 0, first + FRAME: 2}


async def test_a_store_proposes_terms_that_are_special_for_examples_or_for_a_window(stage: Stage) -> None:
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
    assert window[0].term in ("#flood", "the river", "old town", "river is")
    assert {"#flood"} <= {each.term for each in window}
    assert "in 5 of 5 posts, and in 0 of 30 others" in window[0].reason
    assert {"mud", "harbour"} <= {each.term for each in like}
    assert not {"coffee", "morning"} & {each.term for each in (*window, *like)}


def _task(number: int, lane: int, target: str) -> Task:
    return Task(task=number, lane=lane, target=target, token=1, progress=Progress())

"""When answers without a word are taken for a missing route, on both databases."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from msgspec import structs

from bowerbird.crawl.life import registry
from bowerbird.crawl.work.bookkeeping import QueryLog
from bowerbird.crawl.work.lanes import Lane
from bowerbird.crawl.work.servers.unsupported import LOOKS, Unsupported
from bowerbird.errors import Busy
from bowerbird.frontier import TaskFrontier
from bowerbird.model import EPOCH, Answer, Ask, Lease, Outcome, Page, Service, Task
from bowerbird.policies import ranker
from bowerbird.ports import Database
from bowerbird.providers import Mastodon

SPEAKS = Mastodon()
SERVICE = Service(name="s", provider="mastodon", base="https://s.example")
WORDLESS = Page(outcome=Outcome.UNREADABLE, perhaps=Outcome.NOT_FOUND)


def lane(number: int, facet: str) -> Lane:
    return Lane(
        lane=number,
        service=SERVICE,
        provider=SPEAKS,
        facet=SPEAKS.facets[facet],
        ranker=ranker("fifo"),
        seeder=None,  # type: ignore[arg-type]  nobody is seeded here
    )


LIKES, POST, PUBLIC = lane(1, "likes"), lane(2, "post"), lane(3, "public")


def lease(asked: Lane, task: int) -> Lease:
    tasks = (Task(task=task, lane=asked.lane, target=str(task), token=1),)
    ask = Ask(asked.facet.name, (str(task),))
    return Lease(
        call=1,
        worker=1,
        service=SERVICE,
        ask=ask,
        request=SPEAKS.request(ask),
        tasks=tasks,
        credential=None,
        charges=(),
        leased_at=EPOCH,
        until=EPOCH,
    )


async def weigh(database: Database, offers: Unsupported, asked: Lane, call: Lease, page: Page, *, fails: bool = False) -> Page:
    """What the answer is taken for, in a settle of its own, which may be rolled back."""
    weighed = page
    with suppress(Busy):
        async with database.transaction() as tx:
            weighed = await offers.weighed(tx, asked, call, page)
            if fails:
                raise Busy("the database is locked")
    return weighed


async def last_outcome(database: Database, asked: Lane, tasks: list[int], page: Page = WORDLESS) -> Outcome:
    """How the last of these calls ends, each answered without a word, while the service answers others in between."""
    frontier = TaskFrontier(database, 1, lease=timedelta(minutes=1), call=timedelta(minutes=1))
    offers = Unsupported({each.lane: each for each in (LIKES, POST, PUBLIC)}, frontier)
    for task in tasks:
        weighed = await weigh(database, offers, asked, lease(asked, task), page)
        offers.settled(asked, lease(asked, task), weighed, None)
        offers.settled(POST, lease(POST, 100 + task), Page(), None)
    return weighed.outcome


async def test_a_list_that_no_object_has_is_a_missing_route(database: Database) -> None:
    assert await last_outcome(database, LIKES, list(range(LOOKS))) is Outcome.NOT_OFFERED


async def test_one_missing_object_is_no_missing_route_however_often_it_is_asked(database: Database) -> None:
    assert await last_outcome(database, LIKES, [7] * 9) is Outcome.UNREADABLE


async def test_where_no_object_is_named_every_look_counts(database: Database) -> None:
    page = Page(outcome=Outcome.UNREADABLE, perhaps=Outcome.NOT_OFFERED)
    assert await last_outcome(database, PUBLIC, [7] * LOOKS, page) is Outcome.NOT_OFFERED


@pytest.mark.parametrize(("facet", "ended"), [("likes", Outcome.UNREADABLE), ("tags", Outcome.NOT_OFFERED)])
async def test_a_route_that_answered_an_earlier_process_is_not_missing(database: Database, facet: str, ended: Outcome) -> None:
    async with database.transaction() as tx:
        crawl = await registry.enrol_crawl(tx, "c", "", "", EPOCH)
        number = await registry.enrol_lane(tx, crawl.crawl, await registry.enrol_service(tx, SERVICE, "mastodon"), facet)
        answer = Answer(status=200, sent_at=EPOCH, received_at=EPOCH)
        await QueryLog(crawl.crawl, lambda: 1).surveyed(tx, number, facet, answer, Outcome.OK)
    assert await last_outcome(database, LIKES, list(range(9))) is ended


REFUSED = Page(outcome=Outcome.NOT_OFFERED, detail="405")


async def refused(
    database: Database, *, after: timedelta, has_answered: bool, tried: int = 1, times: int = LOOKS
) -> list[Outcome]:
    """How a lane's refusals end that come so long after one another, each settled when it is `tried` so many times."""
    frontier = TaskFrontier(database, 1, lease=timedelta(minutes=1), call=timedelta(minutes=1))
    offers, ends = Unsupported({LIKES.lane: LIKES}, frontier), []
    if has_answered:
        offers.settled(LIKES, lease(LIKES, 0), Page(), None)
    for number in range(times):
        asked = structs.replace(lease(LIKES, number), leased_at=EPOCH + number * after)
        for _ in range(tried - 1):
            await weigh(database, offers, LIKES, asked, REFUSED, fails=True)
        page = await weigh(database, offers, LIKES, asked, REFUSED)
        offers.settled(LIKES, asked, page, None)
        ends.append(page.outcome)
    return ends


async def test_a_route_that_never_answered_is_missing_when_it_is_refused(database: Database) -> None:
    assert await refused(database, after=timedelta(0), has_answered=False) == [Outcome.NOT_OFFERED] * LOOKS


async def test_a_route_that_answered_is_missing_only_when_it_refuses_for_long(database: Database) -> None:
    assert await refused(database, after=timedelta(minutes=1), has_answered=True) == [Outcome.UNREADABLE] * LOOKS
    ends = await refused(database, after=timedelta(minutes=20), has_answered=True)
    assert ends == [Outcome.UNREADABLE] * (LOOKS - 1) + [Outcome.NOT_OFFERED]


async def test_a_refusal_whose_settle_is_tried_again_counts_once(database: Database) -> None:
    ends = await refused(database, after=timedelta(minutes=40), has_answered=True, tried=LOOKS, times=LOOKS - 1)
    assert ends == [Outcome.UNREADABLE] * (LOOKS - 1)

"""Does a crawl on X ever spend more than it may, do screens say what it spends, and does the plan of it come true?

Every built-in flow is crawled on a simulated X with its prices, in virtual time: with the budget that a file has which says
nothing of dollars, with one for the crawl, with one for the month, and, where a crawl ends by itself, with plenty. What was
spent is what the service's own meter billed; the plan is made in another world, about seeds of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from msgspec import Struct, structs

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.crawl.process.endings import Ending
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.plans import posts_of, world
from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Credential
from bowerbird.model.money import DEFAULT_DOLLARS
from bowerbird.planning.course import HORIZONS, Course
from bowerbird.planning.plan import Inquiry, likely_course
from bowerbird.planning.rehearsal import Scope
from bowerbird.ports import Clock
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.posts.tags import tag_name
from bowerbird.simulated.x_v2 import XV2Dialect

ALLOWED = 0.2
_PLENTY = 100_000.0
_TAGS = [f"#{tag_name(number)}" for number in range(40)]
_STREAM = f'[[streams]]\nchannel = "filter"\nrules = ["{" OR ".join(_TAGS)}"]\n'
_PLACES = '[[places]]\nname = "around"\nbox = [-0.34, 51.3, 0.08, 51.71]\n'
_MONDAY = datetime(2026, 1, 5, 6, tzinfo=UTC)

Say = Callable[[str], None]


class Case(Struct, frozen=True, kw_only=True):
    """A flow with enough seeds to spend any of the budgets."""

    flow: str
    """Lines of a crawl file, before its tables."""
    tables: str = ""
    accounts: int = 0
    """Seeds, or of the next: posts."""
    posts: int = 0
    tags: int = 0
    ends: str = ""
    """Lines that make it end by itself, where it does; then it is also crawled with plenty of money."""
    posts_per_day: float = 3.0
    lasts: timedelta = timedelta(hours=6)
    world: int = 2_000
    """Accounts of the world that is crawled."""


_COMMUNITY = """[community]
places.countries = ["GB"]
time.zones = ["Europe/London"]
words.search = ["coffee", "music", "train"]
"""

CASES = {
    "timelines": Case(flow='flow = "timelines"', accounts=300, ends='stop.duration = "2h"'),
    "hydrate": Case(flow='flow = "hydrate"', posts=4_000, ends="# by itself"),
    "graph": Case(flow='flow = "graph"', accounts=200, ends="filters.max_depth = 1", world=20_000),
    "cascades": Case(flow='flow = "cascades"', posts=3_000, ends="# by itself"),
    "community": Case(flow='flow = "community"', tables=_COMMUNITY, accounts=300, posts_per_day=8.0),
    "topic": Case(flow='flow = "topic"', tags=12, posts_per_day=8.0),
    "event": Case(flow='flow = "event"', tags=12, posts_per_day=200.0, world=500, lasts=timedelta(hours=8)),
    "sample": Case(flow='flow = "sample"', accounts=20),
    "robots": Case(flow='flow = "robots"', accounts=50),
    "listen": Case(flow='flow = "listen"', tables=_STREAM, posts_per_day=200.0, world=500, lasts=timedelta(hours=8)),
    "places": Case(flow='flow = "places"', tables=_PLACES, accounts=200, posts_per_day=20.0, world=500),
}


class Budget(Struct, frozen=True):
    """What a crawl file allows, in dollars."""

    in_all: float | None
    a_month: float

    @property
    def least(self) -> float:
        return min(self.a_month, _PLENTY if self.in_all is None else self.in_all)


BUDGETS = {
    "none": Budget(None, DEFAULT_DOLLARS),
    "crawl": Budget(4.0, DEFAULT_DOLLARS),
    "month": Budget(None, 6.0),
    "plenty": Budget(None, _PLENTY),
}
"""`none`: the file says nothing of dollars."""


class Eyes(Protocol):
    """Looks at screens and JSON, and names those that leave dollars out."""

    async def crawl(self, crawl: Crawl, ending: Ending, clock: Clock) -> Sequence[str]:
        """Of a crawl that has just ended."""
        ...

    def plan(self, course: Course, credentials: tuple[Credential, ...]) -> Sequence[str]: ...


def evaluate_money(
    eyes: Eyes,
    cases: Mapping[str, Case] = CASES,
    *,
    budgets: Sequence[str] = tuple(BUDGETS),
    seed: int = 1,
    say: Say = print,
) -> dict[str, Any]:
    """By crawl what was allowed, billed and planned, and which of its screens do not tell."""
    crawls: dict[str, dict[str, Any]] = {}
    for flow, case in cases.items():
        for name in budgets:
            if name == "plenty" and not case.ends:
                continue
            crawls[f"{flow}, {name}"] = found = _crawled(case, BUDGETS[name], eyes, seed)
            say(f"{flow}, budget {name}: ${found['spent']:.2f} of ${found['allowed']:.2f}, planned ${found['planned']:.2f}")
    overspent = max(max(0.0, each["spent"] - each["allowed"]) for each in crawls.values())
    unseen = sum(len(each["unseen"]) for each in crawls.values())
    error = max(each["plan_error"] for each in crawls.values())
    return {
        "crawls": len(crawls),
        "overspent": round(overspent, 3),
        "unseen": unseen,
        "plan_error": round(error, 4),
        "allowed_plan_error": ALLOWED,
        "spent": round(sum(each["spent"] for each in crawls.values()), 3),
        "by_crawl": crawls,
        "is_good": overspent == 0 and unseen == 0 and error <= ALLOWED,
    }


def _crawled(case: Case, budget: Budget, eyes: Eyes, seed: int) -> dict[str, Any]:
    happened: _Happened
    with TemporaryDirectory() as folder:
        store = str(Path(folder) / "crawl.db")
        happened = run_virtual(lambda clock: _happened(case, budget, eyes, seed, store, clock), start=_MONDAY)
    course = _planned(happened, case, seed)
    spent, planned = happened.spent, course.count("dollars", HORIZONS["month"])
    return {
        "spent": spent,
        "allowed": budget.least,
        "planned": round(planned, 3),
        "plan_error": round(abs(planned - spent) / max(spent, 1e-9), 4),
        "ended": happened.reason,
        "unseen": [*happened.unseen, *eyes.plan(course, happened.credentials)],
    }


class _Happened(Struct, frozen=True, kw_only=True):
    plan: CrawlPlan
    credentials: tuple[Credential, ...]
    spent: float
    reason: str
    unseen: tuple[str, ...]


async def _happened(case: Case, budget: Budget, eyes: Eyes, seed: int, store: str, clock: VirtualClock) -> _Happened:
    laboratory = _laboratory(case, seed, clock)
    plan = _plan(laboratory, case, budget, store)
    async with laboratory.crawl(plan) as crawl:
        ending = await laboratory.run(crawl)
        spent, unseen = billed(laboratory, clock), await eyes.crawl(crawl, ending, clock)
    credentials = tuple(laboratory.outside().vault.credentials())
    return _Happened(plan=plan, credentials=credentials, spent=spent, reason=str(ending.reason), unseen=tuple(unseen))


def _laboratory(case: Case, seed: int, clock: VirtualClock) -> Laboratory:
    """Two credentials, a user's and an application's, as one person has them."""
    setup = Setup(dialect="x", world=_lively(case, seed + 1_000, case.world), tokens=1, app_tokens=1)
    return Laboratory(setup, clock)


def _lively(case: Case, seed: int, accounts: int) -> WorldSettings:
    return structs.replace(world(seed, accounts), start=_MONDAY, posts_per_day=case.posts_per_day)


def _plan(laboratory: Laboratory, case: Case, budget: Budget, store: str) -> CrawlPlan:
    seeds = posts_of(laboratory, case.posts) if case.posts else _TAGS[: case.tags] or laboratory.keys(case.accounts)
    is_rich = budget.least >= _PLENTY
    ends = case.ends if is_rich else f'stop.duration = "{int(case.lasts / timedelta(hours=1))}h"'
    in_all = "" if budget.in_all is None else f"stop.dollars = {budget.in_all}"
    plan = laboratory.plan(case.flow, seeds, f"{ends}\n{in_all}\n{case.tables}", store=store)
    return structs.replace(plan, services=tuple(structs.replace(each, dollars=budget.a_month) for each in plan.services))


def _planned(happened: _Happened, case: Case, seed: int) -> Course:
    count = case.posts or case.tags or case.accounts
    scope = Scope(length=case.lasts)
    inquiry = Inquiry(
        seeds=max(1, count), credentials=happened.credentials, world=_lively(case, seed, min(case.world, 2_000)), scope=scope
    )
    return likely_course(happened.plan, inquiry)


def billed(laboratory: Laboratory, clock: Clock) -> float:
    """Dollars on the service's own meter, in this month."""
    dialect, apps = laboratory.service.dialect, {token.app for token in laboratory.service.tokens}
    if not isinstance(dialect, XV2Dialect):
        raise TypeError(f"{dialect.name} has no meter")
    return sum(dialect.meter.spent(app, clock.now()) for app in apps) / 1_000

"""The plan of a crawl: rehearsals in a quiet, a usual and a busy world, and what another credential or policy would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from datetime import timedelta
from typing import Any

from msgspec import Struct, structs

from bowerbird.flows.files.crawl_file import CrawlPlan
from bowerbird.model import Credential
from bowerbird.model.times import span
from bowerbird.planning.budget import MONEY
from bowerbird.planning.cast import cast, one_more
from bowerbird.planning.company import Part, company, play
from bowerbird.planning.course import COUNTS, HORIZONS, NEVER, Course, hours_of
from bowerbird.planning.rehearsal import EVENT_POSTS, Scope, world_of
from bowerbird.simulated.world import WorldSettings

USUAL = WorldSettings(accounts=2_000)
_LIVELINESS = (0.6, 1.0, 1.6)
_WORLDS = ("quiet", "usual", "busy")
_USUAL = 1
_ORDER = (_USUAL, 2, 0)
"""What is compared with the usual world waits for it, and the busy one takes longest."""
_FASTER = "one more credential"
_PACE = 0.2
"""So much of a sample is rehearsed to learn how fast it is: how many calls it takes is known from the usual world, and another
walk would take others by chance alone."""
_TIGHT = 0.5
"""A bucket that is used less than this does not hold the crawl up."""
_NOTABLE = 0.001
_EVERY = timedelta(seconds=10)
"""So soon somebody who waits is told what for, then less and less often."""
_SELDOM = timedelta(minutes=1)
FAR = 30.0
"""So many times the length of what was rehearsed nobody knows what comes."""

Say = Callable[[str], None]


def _silent(_: str) -> None:
    """Nobody wants to know."""


class Range(Struct, frozen=True):
    """A figure in the quiet, the usual and the busy world, in order of size but for the middle one."""

    low: float
    likely: float
    high: float


class Inquiry(Struct, frozen=True, kw_only=True):
    """What a plan is asked for."""

    seeds: int
    """How many the crawl has."""
    credentials: tuple[Credential, ...] = ()
    """What the vault has; secrets are not needed."""
    world: WorldSettings = USUAL
    scope: Scope = Scope(of_sample=0.6)
    rankers: Mapping[str, str] = {}
    """By facet: another policy to compare with."""
    has_variants: bool = True


class Plan(Struct, frozen=True, kw_only=True):
    """What a crawl is expected to take and to bring."""

    courses: tuple[Course, ...]
    """Quiet, usual, busy."""
    credentials: tuple[Credential, ...]
    variants: dict[str, Course]
    is_event: bool = False
    """Its seeds are keywords."""

    @property
    def likely(self) -> Course:
        return self.courses[1]

    def spread(self, figure: Callable[[Course], float]) -> Range:
        values = [figure(course) for course in self.courses]
        return Range(min(values), values[1], max(values))

    def bottleneck(self) -> str | None:
        """The bucket that holds the crawl up, or None where no limit does; `money` where it ends because that is spent."""
        if self.likely.is_spent:
            return MONEY
        first = self.likely.buckets[:1]
        return first[0].name if first and first[0].used >= _TIGHT else None


def plan_crawl(plan: CrawlPlan, inquiry: Inquiry, say: Say = _silent, *, jobs: int = 1) -> Plan:
    """Rehearses a crawl, so many rehearsals at the same time; nothing is called."""
    credentials, size = cast(plan, inquiry.credentials), world_of(plan, inquiry.world).accounts
    with company(jobs) as begin:
        playing: dict[int, Future[Course]] = {}
        for number in _ORDER:
            say(f"Rehearsal {number + 1}: makes a {_WORLDS[number]} world of {size:,} accounts, and plays the crawl in it …")
            playing[number] = begin(_part(plan, credentials, inquiry, lively(inquiry.world, _LIVELINESS[number], number)))
        variants: dict[str, Future[Course]] = {}
        if inquiry.has_variants:
            if not _is_sample(plan):
                patiently(
                    [playing[_USUAL]],
                    say,
                    f"the usual world of {size:,} accounts: making it takes longest, and others are compared with it",
                )
            variants = _variants(plan, credentials, _compared_over(plan, inquiry, playing[_USUAL]), say, begin)
        longest = "walking until a sample is good enough" if _is_sample(plan) else "making them"
        everything = [*playing.values(), *variants.values()]
        patiently(everything, say, f"worlds of {size:,} accounts: {longest} takes most of the time")
        courses = tuple(playing[number].result() for number in sorted(playing))
        found = {name: each.result() for name, each in variants.items()}
        if _FASTER in found and _is_sample(plan):
            found[_FASTER] = courses[_USUAL].as_fast_as(found[_FASTER])
        return Plan(courses=courses, credentials=credentials, variants=found, is_event=plan.flow.keywords is not None)


def patiently(playing: Sequence[Future[Any]], say: Say, what: str, every: timedelta = _EVERY) -> None:
    """Waits for rehearsals, and says now and then how many are done and what the others take."""
    waited = timedelta(0)
    while left := wait(playing, every.total_seconds()).not_done:
        waited, every = waited + every, min(2 * every, _SELDOM)
        say(f"  {len(playing) - len(left)} of {len(playing)} done, {span(waited)} waited; {what}")


def _part(plan: CrawlPlan, credentials: tuple[Credential, ...], inquiry: Inquiry, world: WorldSettings) -> Part:
    return Part(plan=plan, credentials=credentials, world=world, scope=inquiry.scope, seeds=inquiry.seeds)


def likely_course(plan: CrawlPlan, inquiry: Inquiry) -> Course:
    """The middle one of a plan's rehearsals alone."""
    credentials = cast(plan, inquiry.credentials)
    return play(_part(plan, credentials, inquiry, lively(inquiry.world, 1.0, _USUAL)))


def lively(world: WorldSettings, factor: float, number: int) -> WorldSettings:
    """Another world in which people write and follow more, or less."""
    return structs.replace(
        world, seed=world.seed + number, posts_per_day=world.posts_per_day * factor, following=world.following * factor
    )


def _is_sample(plan: CrawlPlan) -> bool:
    """Whether it ends when estimates are good enough."""
    return plan.flow.walks and plan.flow.stop.half_width is not None


def _compared_over(plan: CrawlPlan, inquiry: Inquiry, likely: Future[Course]) -> Inquiry:
    """A variant is compared by its first day: of a crawl that goes on for ever no more is rehearsed. A sample ends sooner."""
    if _is_sample(plan) or likely.result().is_finished:
        return inquiry
    return structs.replace(inquiry, scope=structs.replace(inquiry.scope, length=min(inquiry.scope.length, HORIZONS["day"])))


def _variants(
    plan: CrawlPlan, credentials: tuple[Credential, ...], inquiry: Inquiry, say: Say, begin: Callable[[Part], Future[Course]]
) -> dict[str, Future[Course]]:
    world = lively(inquiry.world, 1.0, 1)
    found: dict[str, tuple[CrawlPlan, tuple[Credential, ...]]] = {_FASTER: one_more(plan, credentials)}
    rankers = dict(inquiry.rankers) or other_policy(plan)
    if rankers:
        name = f"another order ({', '.join(f'{facet} by {ranker}' for facet, ranker in rankers.items())})"
        found[name] = (_with_rankers(plan, rankers), credentials)
    begun = {}
    for number, (name, (variant, its_credentials)) in enumerate(found.items(), start=len(_LIVELINESS) + 1):
        say(f"Rehearsal {number}: with {name} …")
        asked = _for_pace(inquiry) if name == _FASTER and _is_sample(plan) else inquiry
        begun[name] = begin(_part(variant, its_credentials, asked, world))
    return begun


def _for_pace(inquiry: Inquiry) -> Inquiry:
    return structs.replace(inquiry, scope=structs.replace(inquiry.scope, calls=max(1, round(_PACE * inquiry.scope.calls))))


def other_policy(plan: CrawlPlan) -> dict[str, str]:
    """Another policy worth a comparison, by facet: ours against a plain queue, or the other way round."""
    rankers = {use.name: use.ranker for use in plan.flow.facets}
    if {"profiles", "timeline"} <= rankers.keys():
        if rankers["profiles"] == "two_stage":
            return {"profiles": "circular", "timeline": "fifo"}
        return {"profiles": "two_stage", "timeline": "two_stage"}
    return {name: "fifo" for name, ranker in rankers.items() if ranker == "bfs"}


def _with_rankers(plan: CrawlPlan, rankers: Mapping[str, str]) -> CrawlPlan:
    uses = [structs.replace(u, ranker=rankers[u.name], options={}) if u.name in rankers else u for u in plan.flow.facets]
    return structs.replace(plan, flow=structs.replace(plan.flow, facets=tuple(uses)))


def expected_dollars(course: Course) -> float:
    """What the crawl is expected to spend until it ends, or in a month where it goes on for longer."""
    return course.count("dollars", HORIZONS["month"])


def hours(course: Course) -> float:
    """Until everything is asked, or until a crawl that goes on for ever has caught up."""
    return hours_of(course.done_after)


def figures(plan: Plan) -> dict[str, Any]:
    """The plan as plain values."""
    likely = plan.likely
    return {
        "ends": likely.end is not None,
        "ends_after_hours": None if likely.end is None else hours_of(likely.end[0]),
        "ends_because": "" if likely.end is None else likely.end[1],
        "catches_up": likely.done_after < NEVER,
        "hours": structs.asdict(plan.spread(hours)),
        "complete_of": "posts" if likely.is_about_posts else "questions",
        "hidden": likely.hidden,
        "dollars_allowed": None if likely.means is None else likely.means.dollars,
        "dollars_expected": structs.asdict(plan.spread(expected_dollars)),
        "after": {name: _horizon(plan, at) for name, at in HORIZONS.items()},
        "facets": [structs.asdict(use) for use in likely.uses],
        "bottleneck": plan.bottleneck(),
        "buckets": [structs.asdict(bucket) for bucket in likely.buckets],
        "credentials": [{"name": each.name, "provider": each.provider, "kind": each.kind} for each in plan.credentials],
        "variants": {name: _variant(likely, course) for name, course in plan.variants.items()},
        "model": {"factor": likely.factor, "rehearsed_hours": hours_of(likely.length)},
        "notes": list(notes(plan)),
    }


def _horizon(plan: Plan, at: timedelta) -> dict[str, Any]:
    counts = {what: plan.spread(lambda course, what=what: course.count(what, at)) for what in COUNTS}  # type: ignore[misc]
    figures = {**counts, "complete": plan.spread(lambda c: c.complete(at))}
    return {name: structs.asdict(each) for name, each in figures.items()} | {"reckoned": reckoned(plan, at)}


def reckoned(plan: Plan, at: timedelta) -> float:
    """How many times as long as the shortest rehearsal that was cut before that time, or before the end; 1 where none was."""
    return max(_times(each, at) for each in plan.courses)


def _times(course: Course, at: timedelta) -> float:
    if not course.is_reckoned(at):
        return 1.0
    return hours_of(at if course.end is None else min(at, course.end[0])) / hours_of(course.length)


def _variant(likely: Course, course: Course) -> dict[str, float]:
    day = HORIZONS["day"]
    return {
        "hours": hours(course),
        "hours_before": hours(likely),
        "complete_after_a_day": course.complete(day),
        "complete_after_a_day_before": likely.complete(day),
        "calls_on_the_first_day": course.count("calls", day),
        "calls_on_the_first_day_before": likely.count("calls", day),
    }


def notes(plan: Plan) -> Sequence[str]:
    """What the reader must know of how the figures were made."""
    course = plan.likely
    found = [f"{course.factor:.2g} of the seeds were rehearsed, with limits as much smaller; counts are multiplied back."]
    if course.factor == 1:
        found = ["All seeds were rehearsed."]
    walked = [each for each in plan.courses if each.enough is not None]
    cut = [each for each in plan.courses if each.was_cut and each not in walked]
    if cut and any(reckoned(plan, at) > 1 for at in HORIZONS.values()):
        shortest = in_words(hours_of(min(each.length for each in cut)))
        found.append(
            f"~ is multiplied: of one world only {shortest} was rehearsed, which took as many calls or items as a rehearsal may "
            f"have. Beyond {FAR:.0f} times that nothing is foreseen, and the least that was seen is told."
        )
    elif not walked and not course.is_finished:
        found.append(
            f"{in_words(hours_of(course.length))} of virtual time were rehearsed; later figures go on as at the end of that."
        )
    if walked:
        shortest = in_words(hours_of(min(each.length for each in walked)))
        found.append(
            f"~ is reckoned: {shortest} of the sample was rehearsed. When it is good enough is taken from the width that its "
            "intervals had by then, and rough."
        )
    if course.hidden >= _NOTABLE:
        found.append(f"{course.hidden:.1%} of the seeds' posts are older than what the network shows of a timeline.")
    if course.done_after >= NEVER:
        found.append("At the end of the rehearsal more waited than can be asked: limits are too tight, or figures rough.")
    if plan.is_event:
        found.append(
            f"An event of about {EVENT_POSTS:,} posts was rehearsed, with its own hashtags as seeds. Posts, and what they "
            "cost, grow with the event, and can be twice as many if a wrong word is followed for some frames; searches are "
            "bounded by the frame and by probes."
        )
    if any(each.name in ("assumed", "one more") for each in plan.credentials):
        found.append("The vault has no credential that fits: one was assumed.")
    return found


def in_words(length: float) -> str:
    """Hours in words."""
    if length >= hours_of(NEVER):
        return "more than a year"
    if length < 1 / 60:
        return f"{length * 3600:.0f} s"
    return f"{length * 60:.1f} min" if length < 2 else f"{length:.1f} h" if length < 72 else f"{length / 24:.1f} days"

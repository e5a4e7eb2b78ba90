"""`rkwa`: of SKwA's keywords those stay whose traffic goes with that of the seeds, as published (Refined Keyword Adaptation).

The paper says it twice, and not alike. Its prose: a keyword is retained if it correlates highly with a seed (here also: more
highly still, with a keyword that was retained). Its pseudocode: `Thres1` holds as long as nothing but the seeds was retained,
and from then on `Thres2` against any member, so that the first candidate of a frame has it easier than all that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.model.terms import Kind
from bowerbird.policies.keywords.correlation import Courses
from bowerbird.policies.keywords.members import begun, changed, counted, is_kept, may_stay
from bowerbird.policies.keywords.methods.skwa import Skwa
from bowerbird.policies.keywords.values import Candidate, Change, Decision, Frame, Keyword, Settings, State


class Link(Struct, frozen=True):
    """Why a keyword is retained, or how near it came."""

    correlation: float
    other: str
    threshold: float

    @property
    def holds(self) -> bool:
        return self.correlation > self.threshold


class Thresholds(Struct, frozen=True):
    seed: float = 0.5
    """`Thres1`."""
    member: float = 0.8
    """`Thres2`."""


Links = dict[str, Link]
Refining = Callable[[Sequence[str], Sequence[str], Courses, Thresholds], Links]
"""From SKwA's keywords (the most frequent first) and the seeds, how each of the former stands to those that are retained."""


def by_prose(pool: Sequence[str], seeds: Sequence[str], courses: Courses, thresholds: Thresholds) -> Links:
    """A seed above the first threshold, or a retained keyword above the second; the order of candidates does not matter."""
    links = {term: Link(*courses.most(term, seeds), thresholds.seed) for term in pool}
    fresh = [term for term in pool if links[term].holds]
    while fresh:
        near = {term: Link(*courses.most(term, fresh), thresholds.member) for term in pool if not links[term].holds}
        fresh = [term for term, link in near.items() if link.holds]
        links |= {term: near[term] for term in fresh}
    return links


def by_pseudocode(pool: Sequence[str], seeds: Sequence[str], courses: Courses, thresholds: Thresholds) -> Links:
    """Word for word: the first threshold until somebody is retained, then the second against any member."""
    links: Links = {}
    members = list(seeds)
    for term in pool:
        threshold = thresholds.seed if len(members) == len(seeds) else thresholds.member
        links[term] = Link(*courses.most(term, members), threshold)
        if links[term].holds:
            members.append(term)
    return links


READINGS: Mapping[str, Refining] = {"prose": by_prose, "pseudocode": by_pseudocode}


class Rkwa:
    name = "rkwa"
    kinds = frozenset({Kind.HASHTAG})

    def __init__(self, thres1: float = 0.5, thres2: float = 0.8, reading: str = "prose") -> None:
        self._thresholds, self._refine = Thresholds(thres1, thres2), READINGS[reading]

    def begins(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return begun(self.name, seeds, settings)

    def thresholds(self, pool: Sequence[str], seeds: Sequence[str], courses: Courses) -> Thresholds:
        return self._thresholds

    def decides(self, state: State, frame: Frame, settings: Settings) -> Decision:
        """SKwA's step on its own set, then every frame anew: who of it goes with the seeds in this frame."""
        before = counted(state, frame, settings)
        pool = _pooled(state, frame, settings)
        ranked = sorted((term for term in pool if may_stay(before, term, settings)), key=lambda term: (-frame.count(term), term))
        seeds = [term for term in before.keywords if is_kept(before, term, settings)]
        others = [term for term in ranked if term not in seeds]
        courses = Courses(frame)
        thresholds = self.thresholds(others, seeds, courses)
        links = self._refine(others, seeds, courses, thresholds)
        retained = [term for term in others if links[term].holds][: max(0, settings.most - len(seeds))]
        return _decided(replace(before, pool=pool), frame, (seeds, retained), links, thresholds)


def _pooled(state: State, frame: Frame, settings: Settings) -> dict[str, Keyword]:
    skwa = replace(state, keywords={**state.keywords, **state.pool})
    return Skwa().decides(skwa, frame, settings).state.keywords


def _decided(
    state: State, frame: Frame, chosen: tuple[Sequence[str], Sequence[str]], links: Links, thresholds: Thresholds
) -> Decision:
    seeds, retained = chosen
    entries = tuple(_entry(term, links[term], frame) for term in retained if term not in state.keywords)
    gone = [term for term in state.keywords if term not in seeds and term not in retained]
    exits = tuple(_exit(term, links.get(term)) for term in gone)
    return Decision(
        state=changed(state, frame, entries, exits),
        entries=entries,
        exits=exits,
        candidates=tuple(_candidate(term, link, frame, retained) for term, link in links.items()),
        numbers={"thres1": thresholds.seed, "thres2": thresholds.member},
    )


def _entry(term: str, link: Link, frame: Frame) -> Change:
    return Change(
        term=term,
        reason=f"its traffic goes with that of {link.other}: correlation {link.correlation:.2f}, above {link.threshold:.2f}",
        numbers={"correlation": link.correlation, "threshold": link.threshold, "count": frame.count(term)},
    )


def _exit(term: str, link: Link | None) -> Change:
    if link is None:
        return Change(term=term, reason="too few posts for too long, or not wanted any more")
    return Change(
        term=term,
        reason=f"its traffic no longer goes with that of another: at most {link.correlation:.2f}, not above {link.threshold:.2f}",
        numbers={"correlation": link.correlation, "threshold": link.threshold},
    )


def _candidate(term: str, link: Link, frame: Frame, retained: Sequence[str]) -> Candidate:
    verdict = "in" if term in retained else "full" if link.holds else "unlike the seeds"
    numbers = {"correlation": link.correlation, "threshold": link.threshold}
    return Candidate(term=term, counts=frame.counts.get(term, ()), verdict=verdict, numbers=numbers)

"""Replays a stream to one method, frame by frame: what its keywords collect, what it decides, what it may search for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.evaluate.keywords.streams import EventStream, chance
from bowerbird.model.terms import Matcher
from bowerbird.policies.keywords import Decision, FrameCounter, Method, Probe, Prober, Settings, State, Volume


class Conditions(Struct, frozen=True, kw_only=True):
    """What the network gives in a replay."""

    settings: Settings = Settings()
    cap: int | None = None
    """Posts that are sent at most in a frame; None: all that match."""
    background: float = 0.1
    """The part of all posts that is shown as a sample."""
    probes: int = 20
    """Searches between two frames."""
    probe_posts: int = 40
    """Posts that a search shows."""


class Replayed(Struct, frozen=True, kw_only=True):
    """What a method would have collected."""

    collected: frozenset[int]
    """The numbers of the posts."""
    lost: int
    """Matching posts that the cap kept back."""
    decisions: tuple[Decision, ...]
    keywords: tuple[tuple[datetime, frozenset[str]], ...]
    """Who was followed from when on."""


def replay(stream: EventStream, method: Method, conditions: Conditions) -> Replayed:
    """The whole stream to one method. A probe sees posts up to the end of the frame that asked for it."""
    settings = conditions.settings
    state = method.begins(stream.seeds, settings)
    collected: set[int] = set()
    probes: list[Probe] = []
    decisions: list[Decision] = []
    lost, at = 0, stream.began
    followed = [(at, frozenset(state.keywords))]
    while at <= stream.times[-1]:
        counter = FrameCounter(at, state, settings, method.kinds)
        numbers = stream.between(at, at + settings.frame)
        sent, kept_back = _sent(stream, numbers, state, conditions.cap)
        for number in sent:
            counter.add(stream.readings[number], stream.times[number])
        for reading in stream.background(numbers, conditions.background):
            counter.sample(reading, at, conditions.background)
        frame = counter.end(probes, Volume(used=len(sent), cap=conditions.cap, lost=kept_back))
        decision = method.decides(state, frame, settings)
        collected.update(sent)
        state, at, lost = decision.state, at + settings.frame, lost + kept_back
        decisions.append(decision)
        followed.append((at, frozenset(state.keywords)))
        probes = _probed(stream, decision, at, conditions)
    return Replayed(collected=frozenset(collected), lost=lost, decisions=tuple(decisions), keywords=tuple(followed))


def _sent(stream: EventStream, numbers: Sequence[int], state: State, cap: int | None) -> tuple[list[int], int]:
    """What the network sends of what matches: at most the cap, chosen without regard to keywords, and how much it keeps back."""
    matcher = Matcher(state.keywords)
    matching = [number for number in numbers if matcher.matched(stream.readings[number])]
    if cap is None or len(matching) <= cap:
        return matching, 0
    chosen = sorted(matching, key=lambda number: chance(stream.posts[number].key, "cap"))[:cap]
    return sorted(chosen), len(matching) - cap


def _probed(stream: EventStream, decision: Decision, now: datetime, conditions: Conditions) -> list[Probe]:
    terms = decision.probes[: conditions.probes]
    found = ((term, stream.search(term, now, conditions.probe_posts)) for term in terms)
    prober = Prober(decision.state)
    return [prober.probed(term, posts, now) for term, posts in found if posts]

"""`colift`: a term is followed if posts with it look like the event, judged by what nobody selected: searches and a background.

Counts among collected posts are biased, for the posts were selected by what is followed already. So they only propose. What
decides is a probe (a search for the term alone): the share of its posts that look like the event by their other terms, placed
between the same share in the background (0) and among posts with a seed (1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.model.terms import Kind, family, kind_of
from bowerbird.policies.keywords.learning import learned
from bowerbird.policies.keywords.likeness import ALIKE, Likeness
from bowerbird.policies.keywords.members import begun, changed, counted, is_kept, may_enter, quiet_exits, room
from bowerbird.policies.keywords.relevance import Relevance, Scale, discoveries, relevance, scale_of
from bowerbird.policies.keywords.values import Candidate, Change, Decision, Evidence, Frame, Settings, State

SPECIFIC = 2.0
"""The least logarithm of a term's lift: 7.4 times as frequent in collected posts as in the background."""
_LEAST_THRESHOLD = 0.2
_SLACK = 0.9
"""A keyword leaves below this part of the threshold by which it came in, so that nobody comes and goes."""
JUDGED = 20
"""Posts from which on a followed keyword can be judged."""
_PROBES = 100
_SHORTEST = 3
"""Letters of a word that may be followed."""
_WORTH = 0.05
"""The least part of a probe's posts that must be new."""
_FULL = 0.95
_KIN, _LENT = 2.0, 10
"""How much sooner relatives of keywords are searched for, and how many of their relative's posts speak for them."""


class _View(Struct, frozen=True, kw_only=True):
    """A frame as it is judged."""

    state: State
    frame: Frame
    settings: Settings
    likeness: Likeness
    scale: Scale
    threshold: float
    specific: float
    estimated: float
    """The precision of what was collected, as far as it can be told."""
    kin: Mapping[str, Evidence]
    """By family: what is known of the keyword that is followed of it."""

    def relevance(self, term: str) -> Relevance:
        return relevance(self._known(term), self.scale)

    def is_kin(self, term: str) -> bool:
        return family(term) in self.kin

    def _known(self, term: str) -> Evidence:
        """What is known of a term; a plural, a spelling in another language or the words of a hashtag that is followed are
        believed to be as relevant as that one until their own posts say otherwise."""
        known = self.state.evidence.get(term, Evidence())
        relative = self.kin.get(family(term)) if term not in self.state.keywords else None
        if relative is None or not (known.posts and relative.posts):
            return known
        return replace(known, posts=known.posts + _LENT, alike=known.alike + _LENT * relative.alike / relative.posts)


class Colift:
    name = "colift"

    def __init__(
        self, precision: float | None = None, words: bool = True, *, specific: float = SPECIFIC, alike: float = ALIKE
    ) -> None:
        """`specific` and `alike` are no options of crawls: `evaluate` shows what depends on them."""
        self._precision, self._specific, self._alike = precision, specific, alike
        self.kinds = frozenset({Kind.HASHTAG, Kind.WORD, Kind.PHRASE} if words else {Kind.HASHTAG})

    def begins(self, seeds: tuple[str, ...], settings: Settings) -> State:
        return replace(begun(self.name, seeds, settings), numbers={"alike": self._alike})

    def decides(self, state: State, frame: Frame, settings: Settings) -> Decision:
        before = learned(counted(state, frame, settings), frame)
        scale = scale_of(before)
        threshold, estimates = self._threshold(before, frame, scale)
        view = _View(
            state=before,
            frame=frame,
            settings=settings,
            likeness=Likeness(before),
            scale=scale,
            threshold=threshold,
            specific=self._specific,
            estimated=estimates["precision"],
            kin={family(term): before.evidence[term] for term in before.keywords if term in before.evidence},
        )
        exits = _exits(view)
        proposed = self._proposed(view)
        entries, candidates = _entries(view, proposed, room(before, exits, settings))
        after = changed(before, frame, entries, exits)
        return Decision(
            state=after,
            entries=entries,
            exits=exits,
            candidates=candidates,
            probes=_next_probes(view, after, proposed),
            numbers={"threshold": threshold, "background": scale.background, "seeds": scale.seeds, **estimates},
        )

    def _threshold(self, state: State, frame: Frame, scale: Scale) -> tuple[float, dict[str, float]]:
        """What is wanted, or half of the F measure as far as it can be told: to follow a term that is better raises it, and to
        follow one that is worse lowers it."""
        counts = {term: frame.count(term) for term in state.keywords if term in state.evidence}
        whole = sum(counts.values())
        parts = (relevance(state.evidence[term], scale).value * count for term, count in counts.items())
        precision = sum(parts) / whole if whole else 1.0
        numbers = state.numbers
        recall = (numbers.get("sampled_followed", 0.0) + 1) / (numbers.get("sampled_alike", 0.0) + 2)
        measure = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        threshold = self._precision if self._precision is not None else max(measure / 2, _LEAST_THRESHOLD)
        return threshold, {"precision": precision, "recall": recall}

    def _proposed(self, view: _View) -> list[str]:
        """Terms that may come in, are frequent and specific enough, and not covered by a keyword."""
        return [
            term
            for term, known in view.state.vocabulary.items()
            if known.event >= (1 if view.is_kin(term) else view.settings.minimum)
            and kind_of(term) in self.kinds
            and may_enter(view.state, term, view.settings)
            and _is_specific(view, term)
        ]


def _is_specific(view: _View, term: str) -> bool:
    """Whether a term is about something: much more frequent than in the background. Where there is none, a hashtag always is,
    and a word never."""
    if not view.state.numbers.get("background_texts"):
        return term[0] == "#"
    words = term.lstrip("#").split(" ")
    if any(word in view.state.keywords for word in words) or not any(_is_word(word) for word in words):
        return False
    if len(words) > 1 and max(view.likeness.lift(word) for word in words) < view.specific / 2:
        return False
    return view.likeness.lift(term) >= view.specific


def _is_word(word: str) -> bool:
    return (len(word) >= _SHORTEST or not word.isascii()) and not word.isdigit()


def _exits(view: _View) -> tuple[Change, ...]:
    """Who was quiet for long, who looks like the event no more, and, of a full stream, those that spoil it most."""
    exits = {each.term: each for each in quiet_exits(view.state, view.settings)}
    for term in view.state.keywords:
        known = view.relevance(term)
        is_unlike = known.high < view.threshold or known.value < _SLACK * view.threshold
        if term not in exits and is_unlike and known.posts >= JUDGED and not is_kept(view.state, term, view.settings):
            exits[term] = _left(term, known, view, "fewer of its posts look like the event than wanted")
    exits |= {each.term: each for each in _crowded_out(view, exits.keys())}
    return tuple(exits.values())


def _crowded_out(view: _View, gone: Iterable[str]) -> list[Change]:
    """Under a cap a part of what matches is sent, whatever its keywords: whoever brings much else costs the others. Those leave
    without whom, in a frame like this one, more posts of the event would come."""
    if not _is_overfull(view):
        return []
    why = "the stream is full, and without it more of the event comes"
    ranked = sorted((term for term in view.state.keywords if term not in gone), key=lambda term: (-_rank(view, term), term))
    alone = _brought_alone(view.frame, ranked)
    return [_left(term, view.relevance(term), view, why) for term in _dropped(view, ranked, alone)]


def _brought_alone(frame: Frame, ranked: Sequence[str]) -> dict[str, float]:
    """The posts that each keyword brings besides those of better ones, sent or not."""
    places = {term: place for place, term in enumerate(ranked)}
    scale = (frame.volume.used + frame.volume.lost) / max(1, frame.volume.used)
    brought = dict.fromkeys(ranked, 0.0)
    for keywords, count in frame.carried.items():
        if known := [places[term] for term in keywords if term in places]:
            brought[ranked[min(known)]] += count * scale
    return brought


def _dropped(view: _View, ranked: Sequence[str], alone: Mapping[str, float]) -> list[str]:
    """From the least relevant keyword upwards, as long as what comes of the event grows without it."""
    cap = view.frame.volume.cap or 0
    matching = sum(alone.values())
    event = sum(alone[term] * _worth(view, term) for term in ranked)
    out: list[str] = []
    for term in (each for each in reversed(ranked) if not is_kept(view.state, each, view.settings)):
        if matching <= cap:
            break
        less, rest = event - alone[term] * _worth(view, term), matching - alone[term]
        if rest > 0 and less * min(1.0, cap / rest) > event * cap / matching:
            out.append(term)
            event, matching = less, rest
    return out


def _worth(view: _View, term: str) -> float:
    """The part of its posts that belong to the event: of what stays whatever happens, all."""
    return 1.0 if is_kept(view.state, term, view.settings) else view.relevance(term).value


def _rank(view: _View, term: str) -> float:
    return 2.0 if is_kept(view.state, term, view.settings) else view.relevance(term).low


def _is_overfull(view: _View) -> bool:
    volume = view.frame.volume
    return volume.cap is not None and volume.lost > 0


def _costs_others(view: _View, term: str) -> bool:
    """Whether the stream is full and the term would bring less of the event than what is followed brings on average."""
    volume = view.frame.volume
    is_full = volume.cap is not None and (volume.used >= _FULL * volume.cap or volume.lost > 0)
    return is_full and view.relevance(term).low < view.estimated


def _entries(view: _View, proposed: Sequence[str], free: int) -> tuple[tuple[Change, ...], tuple[Candidate, ...]]:
    tested = {term: view.state.evidence[term] for term in proposed if term in view.state.evidence}
    found = discoveries(tested, view.scale.background)
    ranked = sorted(tested, key=lambda term: (-view.relevance(term).low, term))
    entries: list[Change] = []
    candidates: list[Candidate] = []
    for term in ranked:
        verdict = _verdict(view, term, term in found)
        if verdict == "enters" and (len(entries) >= free or (_is_overfull(view) and view.relevance(term).low < view.estimated)):
            verdict = "full"
        if verdict == "enters":
            entries.append(_came(term, view))
        numbers = _numbers(view.relevance(term), view, term)
        counts = view.frame.counts.get(term, ())
        candidates.append(Candidate(term=term, counts=counts, verdict=verdict, numbers=numbers))
    return tuple(entries), tuple(candidates)


def _verdict(view: _View, term: str, is_discovery: bool) -> str:
    evidence, known = view.state.evidence[term], view.relevance(term)
    if not is_discovery:
        return "within chance"
    if known.low < view.threshold:
        return "unlike the event"
    return "enters" if evidence.new >= _WORTH * evidence.posts else "covered"


def _next_probes(view: _View, after: State, proposed: Sequence[str]) -> tuple[str, ...]:
    """The terms of which a search would tell most: promising, frequent, not looked at often; relatives of keywords first."""
    families = {family(keyword) for keyword in after.keywords}
    worth: dict[str, float] = {}
    for term in proposed:
        if term not in after.keywords:
            known, frequency = view.relevance(term), view.state.vocabulary[term].event
            kin = _KIN if family(term) in families else 1.0
            worth[term] = kin * known.high * frequency * max(0.1, view.likeness.lift(term)) / (1 + known.posts / 40)
    return tuple(sorted(worth, key=lambda term: (-worth[term], term))[:_PROBES])


def _numbers(known: Relevance, view: _View, term: str) -> dict[str, float]:
    return {
        "relevance": round(known.value, 4),
        "low": round(known.low, 4),
        "high": round(known.high, 4),
        "posts": round(known.posts, 1),
        "lift": round(view.likeness.lift(term), 3),
        "threshold": round(view.threshold, 4),
    }


def _came(term: str, view: _View) -> Change:
    known, evidence = view.relevance(term), view.state.evidence[term]
    share = evidence.alike / evidence.posts
    reason = f"{share:.0%} of {evidence.posts:.0f} posts with it look like the event: "
    return Change(
        term=term,
        reason=f"{reason}at least {known.low:.2f} relevant, above {view.threshold:.2f}",
        numbers=_numbers(known, view, term),
    )


def _left(term: str, known: Relevance, view: _View, why: str) -> Change:
    reason = f"{why}: {known.value:.2f} relevant (at most {known.high:.2f}), threshold {view.threshold:.2f}"
    return Change(term=term, reason=reason, numbers=_numbers(known, view, term))

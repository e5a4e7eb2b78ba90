"""Counts the posts of a frame, one after the other. The engine and replays of recorded posts count in the same way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.model.terms import Kind, Matcher, Reading, read_text
from bowerbird.model.terms.reading import phrases
from bowerbird.policies.keywords.likeness import Likeness
from bowerbird.policies.keywords.values import Background, Counts, Frame, Probe, Settings, State, Volume

MOST_TERMS = 2_000
"""Terms of a frame that are kept besides its keywords, the most frequent ones; and as many common ones of the background."""
LEARNED_PHRASE = 2
"""Words of the phrases that are learned; longer ones are nearly always covered by their parts."""
_PASSED_ON = frozenset({"rt", "via"})
_REPEATED = 8
"""The words at the beginning by which two texts are taken for the same: what is passed on is cut or added to at the end."""


class Sampled(Struct, frozen=True):
    """A post as a probe shows it."""

    text: str
    at: datetime
    tags: tuple[str, ...] = ()
    author: str = ""


class FrameCounter:
    """The counts of one method in one frame: `add` what its keywords collected, `sample` what the background shows."""

    def __init__(self, began: datetime, state: State, settings: Settings, kinds: Collection[Kind] = frozenset(Kind)) -> None:
        self.began, self._settings, self._state, self._kinds = began, settings, state, frozenset(kinds)
        self._matcher, self._likeness = Matcher(state.keywords), Likeness(state)
        self._width = settings.frame / settings.slots
        self._seen: set[str] = set()
        self._alike: Counter[str] = Counter()
        self._sure = frozenset((*state.seeds, *state.pinned))
        self._anchored: Counter[str] = Counter()
        self._anchors = 0
        self._together: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._collected, self._background = _Tally(settings.slots), _Tally(settings.slots)
        self._sampled_alike = self._sampled_followed = 0
        self._share = 0.0

    def add(self, post: Reading, at: datetime, key: str = "", keywords: Collection[str] | None = None) -> None:
        """Counts a collected post; one with the same key as another is not counted twice. `keywords`: those that it carries,
        where they are known."""
        if key:
            if key in self._seen:
                return
            self._seen.add(key)
        if keywords is None:
            keywords = self._matcher.matched(post)
        terms = terms_of(post, self._kinds).union(keywords)
        is_new = self._collected.add(self._slot(at), terms, post)
        if is_new and not self._sure.isdisjoint(keywords):
            self._anchored.update(terms)
            self._anchors += 1
        score = self._likeness.score(post)
        for keyword in keywords:
            self._together[keyword].update(terms)
            self._alike[keyword] += self._likeness.is_alike(post, score, keyword)

    def sample(self, post: Reading, at: datetime, share: float = 1.0) -> None:
        """Counts a post of the background; `share`: the part of all posts that the sample holds."""
        self._background.add(self._slot(at), terms_of(post, self._kinds), post)
        self._share = share
        if self._likeness.is_alike(post, self._likeness.score(post)):
            self._sampled_alike += 1
            self._sampled_followed += bool(self._matcher.matched(post))

    def end(self, probes: Iterable[Probe] = (), volume: Volume | None = None) -> Frame:
        kept = self._kept()
        return Frame(
            began=self.began,
            length=self._settings.frame,
            posts=tuple(self._collected.posts),
            counts=self._collected.counts(kept),
            together=self._with_keywords(kept),
            texts={term: self._collected.texts[term] for term in kept},
            distinct=len(self._collected.known),
            anchored={term: self._anchored[term] for term in kept if term in self._anchored},
            anchors=self._anchors,
            alike=dict(self._alike),
            background=self._sampled(kept) if any(self._background.posts) else None,
            probes=tuple(probes),
            volume=volume or Volume(used=sum(self._collected.posts)),
        )

    def _kept(self) -> list[str]:
        totals = self._collected.totals()
        followed = [term for term in self._state.keywords if term in totals]
        several = [term for term, total in totals.items() if total > 1 and term not in self._state.keywords]
        several.sort(key=lambda term: (-totals[term], term))
        if len(several) < MOST_TERMS:
            once = sorted(term for term, total in totals.items() if total == 1 and term not in self._state.keywords)
            several += once[: MOST_TERMS - len(several)]
        return followed + several[:MOST_TERMS]

    def _with_keywords(self, kept: Sequence[str]) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        wanted = frozenset(kept)
        for keyword, terms in self._together.items():
            for term in wanted.intersection(terms):
                if term != keyword:
                    found.setdefault(term, {})[keyword] = terms[term]
        return found

    def _sampled(self, kept: Collection[str]) -> Background:
        texts = self._background.texts
        common = dict(texts.most_common(MOST_TERMS))
        return Background(
            posts=tuple(self._background.posts),
            counts=self._background.counts(term for term in kept if term in texts),
            alike=self._sampled_alike,
            followed=self._sampled_followed,
            texts=common | {term: texts[term] for term in kept if term in texts},
            distinct=len(self._background.known),
            share=self._share,
        )

    def _slot(self, at: datetime) -> int:
        """Posts that are older or newer than the frame count in its first or last slot: they came while it lasted."""
        return min(max(0, int((at - self.began) / self._width)), self._settings.slots - 1)


class _Tally:
    """Posts and different texts with each term."""

    def __init__(self, slots: int) -> None:
        self.posts = [0] * slots
        self.known: set[int] = set()
        self.texts: Counter[str] = Counter()
        self._terms: list[Counter[str]] = [Counter() for _ in range(slots)]

    def add(self, slot: int, terms: Collection[str], post: Reading) -> bool:
        """Whether its text is a new one."""
        self.posts[slot] += 1
        self._terms[slot].update(terms)
        if is_new := (text := same_text(post)) not in self.known:
            self.known.add(text)
            self.texts.update(terms)
        return is_new

    def totals(self) -> Counter[str]:
        whole: Counter[str] = Counter()
        for each in self._terms:
            whole.update(each)
        return whole

    def counts(self, terms: Iterable[str]) -> dict[str, Counts]:
        return {term: tuple(each[term] for each in self._terms) for term in terms}


def same_text(post: Reading) -> int:
    """The same for a text, and for the text with which somebody passed it on."""
    words = [token for token in post.tokens if token[0] != "@" and token not in _PASSED_ON]
    return hash(tuple(words[:_REPEATED]))


def terms_of(post: Reading, kinds: Collection[Kind] = frozenset(Kind)) -> set[str]:
    """All that a post could teach, of these kinds; mentions teach nothing."""
    found = {token for token in post.tokens if token[0] == "#"} if Kind.HASHTAG in kinds else set()
    if Kind.WORD in kinds:
        found.update(token for token in post.tokens if token[0] not in "#@")
    if Kind.PHRASE in kinds:
        found.update(phrases(post.tokens, LEARNED_PHRASE))
    return found


class Prober:
    """Reads what searches for single terms found, by what one state knows of the event."""

    def __init__(self, state: State) -> None:
        self._likeness, self._matcher = Likeness(state), Matcher(state.keywords)

    def probed(self, term: str, posts: Iterable[Sampled], at: datetime) -> Probe:
        """How many of the posts look like the event by their other terms, and how many have no keyword yet. A text that was
        passed on counts once."""
        readings = (read_text(post.text, post.tags, post.author) for post in posts)
        different = list({same_text(reading): reading for reading in readings}.values())
        return Probe(
            term=term,
            at=at,
            posts=len(different),
            alike=sum(self._likeness.is_alike(reading, self._likeness.score(reading), term) for reading in different),
            new=sum(not self._matcher.matched(reading) for reading in different),
        )


def probed(term: str, posts: Iterable[Sampled], state: State, at: datetime) -> Probe:
    """What one search tells; `Prober` reads many of them faster."""
    return Prober(state).probed(term, posts, at)

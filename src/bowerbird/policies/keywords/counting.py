"""Counts the posts of a frame, one after the other. The engine and replays of recorded posts count in the same way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from heapq import nsmallest

from msgspec import Struct

from bowerbird.model.terms import Kind, Matcher, Reading, read_text
from bowerbird.model.terms.reading import phrases
from bowerbird.policies.keywords.likeness import Likeness
from bowerbird.policies.keywords.values import Background, Counts, Frame, Probe, Settings, State, Volume

MOST_TERMS = 2_000
"""Terms of a frame that are kept besides its keywords, the most frequent ones; and as many common ones of the background."""
LEARNED_PHRASE = 2
"""Words of the phrases that are learned; longer ones are nearly always covered by their parts."""
SPELLINGS = 2
"""Of a hashtag, besides the one without accents: each takes the place of a keyword where the network filters."""
READ = 60
"""Posts of a slot that are read as a whole, besides one of `_EVERY`."""
_EVERY = 16
_CHEAP = frozenset({Kind.HASHTAG})
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
    """The counts of one method in one frame: `add` what its keywords collected, `sample` what the background shows.

    Keywords and hashtags are counted in every post. Words and phrases, which cost many times as much, are read in the first posts
    of each slot and in one of some more: what a crowd says shows in a few hundred posts."""

    def __init__(self, began: datetime, state: State, settings: Settings, kinds: Collection[Kind] = frozenset(Kind)) -> None:
        self.began, self._settings, self._state, self._kinds = began, settings, state, frozenset(kinds)
        self._matcher, self._likeness = Matcher(state.keywords), Likeness(state)
        self._width = settings.frame / settings.slots
        self._seen: set[str] = set()
        self._alike: Counter[str] = Counter()
        self._judged: Counter[str] = Counter()
        self._sure = frozenset((*state.seeds, *state.pinned))
        self._anchored: Counter[str] = Counter()
        self._anchors = 0
        self._together: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._carried: Counter[frozenset[str]] = Counter()
        self._written: defaultdict[str, Counter[str]] = defaultdict(Counter)
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
        carried = frozenset(self._matcher.matched(post) if keywords is None else keywords)
        slot = self._slot(at)
        self._carried[carried] += 1
        if self._collected.is_read(slot):
            self._read(post, slot, carried)
        else:
            terms = carried.union(terms_of(post, self._kinds & _CHEAP))
            self._collected.count(slot, terms)
            for keyword in carried:
                self._together[keyword].update(terms)

    def _read(self, post: Reading, slot: int, keywords: frozenset[str]) -> None:
        terms = terms_of(post, self._kinds).union(keywords)
        is_new = self._collected.read(slot, terms, post)
        if is_new and not self._sure.isdisjoint(keywords):
            self._anchored.update(terms)
            self._anchors += 1
        score = self._likeness.score(post)
        for keyword in keywords:
            self._together[keyword].update(terms)
            self._judged[keyword] += 1
            self._alike[keyword] += self._likeness.is_alike(post, score, keyword)

    def spell(self, term: str, written: str) -> None:
        """Notes how somebody wrote a hashtag."""
        self._written[term][written] += 1

    def sample(self, post: Reading, at: datetime, share: float = 1.0) -> None:
        """Counts a post of the background; `share`: the part of all posts that the sample holds. What carries a seed is the event
        itself, and tells nothing of everything else: where an event is a large part of what a place or a small server writes,
        its words would seem to be common."""
        keywords = self._matcher.matched(post)
        self._background.posts[self._slot(at)] += 1
        if self._sure.isdisjoint(keywords):
            self._background.learn(terms_of(post, self._kinds), post)
        self._share = share
        if self._likeness.is_alike(post, self._likeness.score(post)):
            self._sampled_alike += 1
            self._sampled_followed += bool(keywords)

    def end(self, probes: Iterable[Probe] = (), volume: Volume | None = None) -> Frame:
        kept = self._kept()
        return Frame(
            began=self.began,
            length=self._settings.frame,
            posts=tuple(self._collected.posts),
            counts=self._collected.counts(kept, self._state.keywords),
            together=self._with_keywords(kept),
            texts={term: self._collected.texts[term] for term in kept if term in self._collected.texts},
            distinct=len(self._collected.known),
            anchored={term: self._anchored[term] for term in kept if term in self._anchored},
            anchors=self._anchors,
            alike=dict(self._alike),
            judged=dict(self._judged),
            carried=dict(self._carried),
            written={term: tuple(form for form, _ in each.most_common(SPELLINGS)) for term, each in self._written.items()},
            background=self._sampled(kept) if any(self._background.posts) else None,
            probes=tuple(probes),
            volume=volume or Volume(used=sum(self._collected.posts)),
        )

    def _kept(self) -> list[str]:
        totals = self._collected.totals()
        followed = [term for term in self._state.keywords if term in totals]
        several = [(-total, term) for term, total in totals.items() if total > 1 and term not in self._state.keywords]
        several.sort()
        chosen = [term for _, term in several[:MOST_TERMS]]
        if len(chosen) < MOST_TERMS:
            once = (term for term, total in totals.items() if total == 1 and term not in self._state.keywords)
            chosen += nsmallest(MOST_TERMS - len(chosen), once)
        return followed + chosen

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
        self._reads = [0] * slots
        self._terms: list[Counter[str]] = [Counter() for _ in range(slots)]

    def is_read(self, slot: int) -> bool:
        """Whether the next post of a slot is read as a whole."""
        return self.posts[slot] < READ or self.posts[slot] % _EVERY == 0

    def count(self, slot: int, terms: Collection[str]) -> None:
        self.posts[slot] += 1
        self._terms[slot].update(terms)

    def read(self, slot: int, terms: Collection[str], post: Reading) -> bool:
        """Whether its text is a new one."""
        self._reads[slot] += 1
        self.count(slot, terms)
        return self.learn(terms, post)

    def learn(self, terms: Collection[str], post: Reading) -> bool:
        if is_new := (text := same_text(post)) not in self.known:
            self.known.add(text)
            self.texts.update(terms)
        return is_new

    def totals(self) -> Counter[str]:
        whole: Counter[str] = Counter()
        for each in self._terms:
            if each:
                whole.update(each)
        return whole

    def counts(self, terms: Iterable[str], keywords: Collection[str]) -> dict[str, Counts]:
        """The posts of each slot with a term; of words and phrases that are no keywords, as many as what was read lets expect."""
        more = [posts / reads if reads else 1.0 for posts, reads in zip(self.posts, self._reads, strict=True)]
        if max(more) <= 1.0:
            return {term: tuple([each.get(term, 0) for each in self._terms]) for term in terms}
        return {term: self._expected(term, more if term[0] != "#" and term not in keywords else None) for term in terms}

    def _expected(self, term: str, more: Sequence[float] | None) -> Counts:
        seen = [each.get(term, 0) for each in self._terms]
        return tuple(seen if more is None else [round(count * times) for count, times in zip(seen, more, strict=True)])


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

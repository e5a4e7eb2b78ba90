"""Languages and varieties as judgements: of every post by its own words, of its author by all posts of a page together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from bowerbird.analysis.language.identify import LEAST_POSTS, LEAST_SHARE, SEVERAL, require_model
from bowerbird.analysis.language.reading import PostRead, Reader, Reading
from bowerbird.analysis.language.variety import VERSION, Weighing
from bowerbird.model import Judgement, PostKind, Ruling, Seen, Subject

BY_TEXT = "text"
BY_POSTS = {"few posts": LEAST_POSTS, "some posts": 10, "many posts": 30}
"""Reasons for what is said of people, by how many posts showed it, the weakest first."""
_TOLD_HINTS = 5
_REMEMBERED = 2_000
"""Posts that are not read twice when both judges look at them."""

Evidence = Mapping[str, str | float | None]
Said = tuple[str, float, Evidence]
"""A value, how certain it is, and why."""


class PageRead(Struct, frozen=True):
    """The posts of a page, read: each with its stored id, and by the stored ids of their authors."""

    posts: Sequence[tuple[str, PostRead]]
    people: Mapping[str, Sequence[PostRead]]


class PageReader:
    """Reads what people wrote themselves: reposts are others' words, and of those who opted out or are gone nothing is said."""

    def __init__(self) -> None:
        self.reader = Reader()
        self._post = lru_cache(maxsize=_REMEMBERED)(self.reader.post)

    def read(self, seen: Seen) -> PageRead:
        posts: list[tuple[str, PostRead]] = []
        people: dict[str, list[PostRead]] = {}
        for known, author, post in seen.posts():
            if post.kind is PostKind.REPOST or not post.text or not _may_be_judged(seen, author):
                continue
            read = self._post(post.text)
            posts.append((known, read))
            people.setdefault(author, []).append(read)
        return PageRead(posts, people)


class LanguageJudge:
    """Says in which language posts are written, and in which one or several people write; implements `ports.Judge`."""

    name = "language"
    version = "1"

    def __init__(self, reader: PageReader) -> None:
        self._reader = reader

    def judge(self, seen: Seen) -> Ruling:
        read = self._reader.read(seen)
        said = [*_of_posts(read, self._post), *_of_people(read, self._person, self._reader.reader)]
        return Ruling(judgements=tuple(said), reviewed=_reviewed(seen, read))

    def _post(self, post: PostRead) -> Iterator[Said]:
        if post.language.language is not None:
            yield post.language.language, post.language.confidence, {}

    def _person(self, reading: Reading) -> Iterator[Said]:
        """Somebody who writes in several languages is judged to write in each of them, and in several."""
        told = reading.languages
        shares = ", ".join(f"{name} {share:.0%}" for name, share in told.shares.items() if share >= 0.01)
        evidence: Evidence = {"posts": told.posts, "told": told.told, "shares": shares}
        if told.language == SEVERAL:
            yield SEVERAL, 1.0 - max(told.shares.values()), evidence
            yield from ((name, share, evidence) for name, share in told.shares.items() if share >= LEAST_SHARE)
        elif told.language is not None:
            yield told.language, told.shares[told.language], evidence


class VarietyJudge:
    """Says whether posts and people who write Portuguese write that of Portugal or of Brazil; implements `ports.Judge`."""

    name = "variety"
    version = VERSION

    def __init__(self, reader: PageReader) -> None:
        self._reader = reader

    def judge(self, seen: Seen) -> Ruling:
        read = self._reader.read(seen)
        said = [*_of_posts(read, self._post), *_of_people(read, self._person, self._reader.reader)]
        return Ruling(judgements=tuple(said), reviewed=_reviewed(seen, read))

    def _post(self, post: PostRead) -> Iterator[Said]:
        return _weighed(self._reader.reader.alone(post))

    def _person(self, reading: Reading) -> Iterator[Said]:
        return _weighed(reading.weighing)


def language_judges(names: Collection[str]) -> Sequence[LanguageJudge | VarietyJudge]:
    """Those of the two judges that are asked for; raises `UserError` where the model is not installed."""
    if not names:
        return []
    reader = PageReader()
    judges = [judge for judge in (LanguageJudge(reader), VarietyJudge(reader)) if judge.name in names]
    if judges:
        require_model()
    return judges


def _may_be_judged(seen: Seen, author: str) -> bool:
    profile = seen.profiles.get(author)
    return author not in seen.hidden and not (profile is not None and profile.opts_out)


def _of_posts(read: PageRead, said: Callable[[PostRead], Iterator[Said]]) -> Iterator[Judgement]:
    for known, post in read.posts:
        for value, confidence, evidence in said(post):
            yield Judgement(
                subject=Subject.POST, id=known, value=value, reason=BY_TEXT, confidence=round(confidence, 4), evidence=evidence
            )


def _of_people(read: PageRead, said: Callable[[Reading], Iterator[Said]], reader: Reader) -> Iterator[Judgement]:
    for author, posts in read.people.items():
        if (strength := _strength(len(posts))) == 0:
            continue
        reason = tuple(BY_POSTS)[strength - 1]
        for value, confidence, evidence in said(reader.together(posts)):
            yield Judgement(
                subject=Subject.USER,
                id=author,
                value=value,
                reason=reason,
                confidence=round(confidence, 4),
                strength=strength,
                evidence=evidence,
            )


def _reviewed(seen: Seen, read: PageRead) -> Mapping[tuple[Subject, str], frozenset[str]]:
    """What fewer posts said of somebody goes when more posts, or as many, no longer say it; never the other way round."""
    posts = {(Subject.POST, known): frozenset({BY_TEXT}) for known, _ in read.posts}
    people = {(Subject.USER, author): frozenset(tuple(BY_POSTS)[: _strength(len(own))]) for author, own in read.people.items()}
    gone = {(Subject.USER, known): frozenset(BY_POSTS) for known, user in seen.accounts() if user.opts_out}
    return posts | people | gone


def _strength(posts: int) -> int:
    return sum(posts >= least for least in BY_POSTS.values())


def _weighed(weighing: Weighing | None) -> Iterator[Said]:
    if weighing is not None and weighing.variety is not None:
        evidence: Evidence = {"score": weighing.score, "hints": hints_told(weighing)}
        yield weighing.variety, weighing.confidence, evidence


def hints_told(weighing: Weighing) -> str:
    """The weightiest hints with what they add and the words that show them, for people."""
    told = (f"{each.hint} {each.weight:+.1f} ({', '.join(each.examples)})" for each in weighing.evidence[:_TOLD_HINTS])
    return "; ".join(told)

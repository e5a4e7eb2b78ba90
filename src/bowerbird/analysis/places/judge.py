"""Places as judgements: which of a crawl's areas the accounts and posts of a page belong to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bowerbird.analysis.places.locator import AreaLocator
from bowerbird.analysis.places.opened import resolver_in
from bowerbird.model import Area, Finding, Judgement, Ruling, Seen, Source, Subject
from bowerbird.ports import Locator

BY_ACCOUNT = frozenset({Source.PROFILE, Source.TEXT})
_REVIEWED = frozenset(source.value for source in BY_ACCOUNT)


class PlaceJudge:
    """Judges by the strongest source that says anything; implements `ports.Judge`."""

    name = "place"
    version = "1"

    def __init__(self, locator: Locator) -> None:
        self._locator = locator

    def judge(self, seen: Seen) -> Ruling:
        return Ruling(
            judgements=(*self._accounts(seen), *self._posts(seen)),
            reviewed={(Subject.USER, known): _REVIEWED for known, _ in seen.accounts()},
        )

    def _accounts(self, seen: Seen) -> Iterator[Judgement]:
        for known, user in seen.accounts():
            for found in self._locator.user(user):
                yield _judgement(found, Subject.USER, known, holds_for_posts=True)

    def _posts(self, seen: Seen) -> Iterator[Judgement]:
        for known, author, post in seen.posts():
            for found in self._locator.post(post, seen.profiles.get(author)):
                yield _judgement(found, Subject.POST, known)
                if found.source not in BY_ACCOUNT:
                    # Who writes from a place was there, whatever the profile says.
                    yield _judgement(found, Subject.USER, author)


def place_judge(areas: Sequence[Area], cache: Path) -> PlaceJudge:
    """The judge of these areas; the index of place names is kept in the folder."""
    return PlaceJudge(AreaLocator(areas, resolver_in(cache)))


def _judgement(found: Finding, subject: Subject, known: str, *, holds_for_posts: bool = False) -> Judgement:
    return Judgement(
        subject=subject,
        id=known,
        value=found.area,
        reason=found.source.value,
        confidence=found.confidence,
        strength=len(Source) - found.source.rank,
        evidence={"longitude": found.longitude, "latitude": found.latitude},
        holds_for_posts=holds_for_posts,
    )

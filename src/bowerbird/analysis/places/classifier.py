"""Decide which of a crawl's areas an account or a post belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from bowerbird.analysis.places.gazetteer import Entry, Level
from bowerbird.analysis.places.resolver import MAX_PROSE, MIN_CONFIDENCE, Candidate, Resolver
from bowerbird.errors import UserError
from bowerbird.model import Area, Box, Finding, Judgement, Place, Post, PostKind, Ruling, Seen, Source, Subject, User

_ACCOUNT_SOURCES = frozenset({Source.PROFILE, Source.TEXT})
_MARGIN = 0.05
"""Degrees around the outermost towns of a country or region."""


class PlaceClassifier:
    """Labels accounts and posts with areas; implements `ports.Judge`. The same item always gives the same result.

    The strongest source decides: coordinates of the post, its place, the location of the profile, the text.
    """

    name = "place"
    version = "1"

    def __init__(self, areas: Sequence[Area], resolver: Resolver) -> None:
        self._areas = tuple(areas)
        self._resolver = resolver
        self._in_description = lru_cache(maxsize=50_000)(resolver.in_description)

    def judge(self, seen: Seen) -> Ruling:
        labels = [
            _label(finding, Subject.USER, known, holds_for_posts=True)
            for known, user in seen.accounts()
            for finding in self.locate_user(user)
        ]
        for known, author, post in seen.posts():
            if author in seen.hidden:
                continue
            for finding in self.locate_post(post, seen.profiles.get(author)):
                labels.append(_label(finding, Subject.POST, known))
                if finding.source not in _ACCOUNT_SOURCES:
                    # The author was at the place of the post, whatever the profile says.
                    labels.append(_label(finding, Subject.USER, author))
        reasons = frozenset(source.value for source in _ACCOUNT_SOURCES)
        reviewed = {(Subject.USER, known): reasons for known, _ in seen.accounts()}
        return Ruling(judgements=tuple(labels), reviewed=reviewed)

    def locate_user(self, user: User) -> Sequence[Finding]:
        """Return the areas of an account by its location, or else by its description."""
        if user.opts_out:
            return ()
        places = self._resolver.resolve(user.location or "")
        if found := [each for each in places if each.confidence >= MIN_CONFIDENCE]:
            return self._findings(found, Source.PROFILE)
        described = self._in_description((user.description or "")[:MAX_PROSE])
        return self._findings([described], Source.TEXT) if described else ()

    def locate_post(self, post: Post, author: User | None) -> Sequence[Finding]:
        """Return the areas of a post by its coordinates, its place, its author's location, or its text.

        A repost has no area, because another account wrote it.
        """
        if post.kind is PostKind.REPOST or (author is not None and author.opts_out):
            return ()
        if post.place is not None and (found := self._locate_place(post.place)) is not None:
            return found
        by_author = self.locate_user(author) if author is not None else ()
        if by_author and by_author[0].source is Source.PROFILE:
            return by_author
        named = self._resolver.in_post(post.text, post.tags) if post.text else None
        return (self._findings([named], Source.TEXT) if named else ()) or by_author

    def _locate_place(self, place: Place) -> Sequence[Finding] | None:
        """Return the areas of the place of a post; None for a name that is no place."""
        if place.longitude is None or place.latitude is None:
            text = ", ".join(filter(None, (place.name, place.country)))
            best = self._resolver.best(text)
            return self._findings([best], Source.PLACE) if best else None
        point = place.longitude, place.latitude
        needs_town = any(area.country for area in self._areas)
        town = self._resolver.gazetteer.nearest(*point) if needs_town else None
        return [
            _finding(area, Source.COORDINATES, 1.0, point)
            for area in self._areas
            if (town is not None and _is_in_country(area, town) if area.country else area.box.holds(*point))
        ]

    def _findings(self, candidates: Sequence[Candidate], source: Source) -> list[Finding]:
        """Return a finding for each area that holds a candidate, by the first of these."""
        findings: dict[str, Finding] = {}
        for candidate in candidates:
            point = candidate.point or (candidate.entry.longitude, candidate.entry.latitude)
            for area in self._areas:
                if _contains(area, candidate):
                    findings.setdefault(area.name, _finding(area, source, candidate.confidence, point))
        return list(findings.values())


def find_area(name: str, resolver: Resolver) -> Area:
    """Return the city, region or country of that name; raise `UserError` if none is certain enough."""
    # Less than for a profile, which may be a joke.
    found = resolver.best(name, 0.45)
    if found is None or (box := found.entry.box) is None:
        example = "box = [-9.5, 38.6, -9.0, 38.9]"
        raise UserError(
            f"unknown city, region or country {name!r}", f"write west, south, east, north: {example}", code="unknown_name"
        )
    if found.entry.level is Level.CITY:
        return Area(name=name, box=box)
    around = Box(
        max(box.west - _MARGIN, -180.0),
        max(box.south - _MARGIN, -90.0),
        min(box.east + _MARGIN, 180.0),
        min(box.north + _MARGIN, 90.0),
    )
    return Area(name=name, box=around, country=found.entry.country, region=found.entry.region)


def _contains(area: Area, candidate: Candidate) -> bool:
    entry = candidate.entry
    if area.country:
        return _is_in_country(area, entry)
    if candidate.point is not None:
        return area.box.holds(*candidate.point)
    if entry.level is Level.CITY and entry.longitude is not None and entry.latitude is not None:
        return area.box.holds(entry.longitude, entry.latitude)
    # An account that names only a country is in a box only if the box covers the whole country.
    return entry.box is not None and area.box.covers(entry.box)


def _is_in_country(area: Area, entry: Entry) -> bool:
    return entry.country == area.country and (not area.region or entry.region == area.region)


def _finding(area: Area, source: Source, confidence: float, point: tuple[float | None, float | None]) -> Finding:
    return Finding(area=area.name, source=source, confidence=confidence, longitude=point[0], latitude=point[1])


def _label(finding: Finding, subject: Subject, known: str, *, holds_for_posts: bool = False) -> Judgement:
    return Judgement(
        subject=subject,
        id=known,
        value=finding.area,
        reason=finding.source.value,
        confidence=finding.confidence,
        strength=len(Source) - finding.source.rank,
        evidence={"longitude": finding.longitude, "latitude": finding.latitude},
        holds_for_posts=holds_for_posts,
    )

"""Which of a crawl's areas an account or a post belongs to: coordinates before place before profile before text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from bowerbird.analysis.places.index.entries import Entry, Level
from bowerbird.analysis.places.prose import described, told
from bowerbird.analysis.places.resolver import Candidate, Resolver
from bowerbird.model import Area, Finding, Place, Post, PostKind, Source, User

LEAST = 0.5
"""What is less certain than this is not said."""


class AreaLocator:
    """Judges by the first source that says anything; implements `ports.Locator`. Pure: the same item gives the same findings."""

    def __init__(self, areas: Sequence[Area], resolver: Resolver, least: float = LEAST) -> None:
        self._areas = tuple(areas)
        self._resolver = resolver
        self._least = least
        self._described = lru_cache(maxsize=50_000)(lambda text: described(text, resolver))

    def user(self, user: User) -> Sequence[Finding]:
        """By the profile's location, or else by what the description says."""
        if user.opts_out:
            return ()
        if user.location and (found := self._likely(self._resolver.resolve(user.location))):
            return self._findings(found, Source.PROFILE)
        said = self._described(user.description) if user.description else None
        return self._findings(self._likely([said]), Source.TEXT) if said else ()

    def post(self, post: Post, author: User | None) -> Sequence[Finding]:
        """By its point, its place, its author's profile, or its words; a repost is nowhere, its words are another's."""
        if post.kind is PostKind.REPOST or (author is not None and author.opts_out):
            return ()
        if post.place is not None:
            return self._tagged(post.place)
        found = self.user(author) if author is not None else ()
        by_profile = [each for each in found if each.source is Source.PROFILE]
        if by_profile or not post.text:
            return by_profile or found
        said = told(post.text, post.tags, self._resolver)
        return (self._findings(self._likely([said]), Source.TEXT) if said else ()) or found

    def _tagged(self, place: Place) -> Sequence[Finding]:
        if place.longitude is not None and place.latitude is not None:
            return self._pointed(place.longitude, place.latitude)
        text = ", ".join(filter(None, (place.name, place.country)))
        return self._findings(self._likely(self._resolver.resolve(text))[:1], Source.PLACE)

    def _pointed(self, longitude: float, latitude: float) -> Sequence[Finding]:
        by_country = any(area.country for area in self._areas)
        town = self._resolver.gazetteer.nearest(longitude, latitude) if by_country else None
        inside = [area for area in self._areas if _holds(area, longitude, latitude, town)]
        point = {"longitude": longitude, "latitude": latitude}
        return [Finding(area=area.name, source=Source.COORDINATES, confidence=1.0, **point) for area in inside]

    def _likely(self, found: Sequence[Candidate]) -> list[Candidate]:
        return [each for each in found if each.confidence >= self._least]

    def _findings(self, found: Sequence[Candidate], source: Source) -> list[Finding]:
        findings: dict[str, Finding] = {}
        for candidate in found:
            for area in self._areas:
                if area.name not in findings and _contains(area, candidate):
                    findings[area.name] = _finding(area, candidate, source)
        return list(findings.values())


def _finding(area: Area, candidate: Candidate, source: Source) -> Finding:
    entry = candidate.entry
    longitude, latitude = candidate.point or (entry.longitude, entry.latitude)
    return Finding(
        area=area.name, source=source, confidence=candidate.confidence, longitude=longitude, latitude=latitude
    )  # fmt: skip


def _holds(area: Area, longitude: float, latitude: float, town: Entry | None) -> bool:
    if area.country:
        return town is not None and _is_of(area, town)
    return area.box.holds(longitude, latitude)


def _contains(area: Area, candidate: Candidate) -> bool:
    entry = candidate.entry
    if area.country:
        return _is_of(area, entry)
    if candidate.point is not None:
        return area.box.holds(*candidate.point)
    if entry.level is Level.CITY and entry.longitude is not None and entry.latitude is not None:
        return area.box.holds(entry.longitude, entry.latitude)
    # Of a whole country only a box around all of it can be said to hold whoever lives there.
    return entry.box is not None and area.box.covers(entry.box)


def _is_of(area: Area, entry: Entry) -> bool:
    return entry.country == area.country and (not area.region or entry.region == area.region)

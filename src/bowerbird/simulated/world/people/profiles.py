"""How an account presents itself at a time: profile edits follow from the account's number and the time alone."""

from __future__ import annotations

import re

from msgspec import Struct

from bowerbird.simulated.world.hashing import mix, unit
from bowerbird.simulated.world.nations.people import shown
from bowerbird.simulated.world.people.population import Population
from bowerbird.simulated.world.people.vocabulary import FAMILY, GIVEN, TOPICS, TOWNS, TRADES

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_HANDLE = re.compile(r"([a-z]+)_([0-9a-z]{1,5})(?:_(\d{1,3}))?")


class Profile(Struct, frozen=True, gc=False):
    """What the owner says; counters are not part of it."""

    handle: str
    first_handle: str
    """Never changes: the name on networks that do not allow renaming."""
    name: str
    bio: str
    location: str
    link: str
    picture: int
    language: str
    version: int
    time_zone: str = ""
    """As the list of the network's settings has it; empty where none is set, and in worlds whose people set none."""
    utc_hours: int = 0

    @property
    def bio_with_place(self) -> str:
        """The bio on a network whose profiles have no field for a location."""
        return f"{self.bio} 📍 {self.location}".strip() if self.location else self.bio


class Profiles:
    """The profile of any account at any time."""

    def __init__(self, seed: int, people: Population, *, mixed: bool = False) -> None:
        self._seed = seed
        self._mixed = mixed
        self._people = people
        self._kept: dict[tuple[int, int], Profile] = {}

    def at(self, account: int, now: int) -> Profile:
        version = self.version(account, now)
        kept = self._kept.get((account, version))
        if kept is None:
            if len(self._kept) >= 50_000:
                self._kept.clear()
            kept = self._kept[account, version] = self._write(account, version)
        return kept

    def version(self, account: int, now: int) -> int:
        """How many edits the profile has seen."""
        edit, moment = self._edit(account, now)
        return max(0, edit if now >= moment else edit - 1)

    def next_edit(self, account: int, now: int) -> int:
        """When the version changes next."""
        edit, moment = self._edit(account, now)
        return moment if now < moment else self._moment(account, edit + 1)

    def _edit(self, account: int, now: int) -> tuple[int, int]:
        """The edit that falls into the present stretch of time, and when."""
        every, created = int(self._people.edit_every[account]), int(self._people.created[account])
        edit = max(0, (now - created) // every)
        return edit, self._moment(account, edit)

    def _moment(self, account: int, edit: int) -> int:
        every, created = int(self._people.edit_every[account]), int(self._people.created[account])
        return created + edit * every + int(unit(mix(account * 8191 + edit, self._seed)) * 0.8 * every)

    def account_of(self, handle: str, now: int) -> int | None:
        """The account that bears this handle at that time, or ever did as its first."""
        match = _HANDLE.fullmatch(handle.lower())
        account = int(match[2], 36) if match else len(self._people)
        if account >= len(self._people):
            return None
        profile = self.at(account, now)
        return account if handle.lower() in (profile.handle, profile.first_handle) else None

    def _write(self, account: int, version: int) -> Profile:
        draw = mix(account, self._seed ^ 0x5EED)
        first = f"{GIVEN[draw % len(GIVEN)].lower()}_{_base36(account)}"
        renames = version // 10
        if self._mixed:
            return self._careless(account, version, first, f"{first}_{renames}" if renames else first)
        town = TOWNS[int(self._people.community[account])]
        return Profile(
            handle=f"{first}_{renames}" if renames else first,
            first_handle=first,
            name=_name(draw, version // 3),
            bio=self._bio(account, mix(draw, version), version),
            location=_location(draw >> 20, town.name, town.country, version // 7),
            link=f"https://{first.replace('_', '-')}.example/" if draw >> 60 == 0 else "",
            picture=version // 4,
            language=town.language,
            version=version,
        )

    def _careless(self, account: int, version: int, first: str, handle: str) -> Profile:
        """The profile of somebody with a nationality."""
        told = shown(self._seed, account, int(self._people.community[account]), version)
        return Profile(
            handle=handle,
            first_handle=first,
            name=told.name,
            bio=f"{told.bio} #nobot".strip() if self._people.says_nobot[account] else told.bio,
            location=told.location,
            link="",
            picture=version // 4,
            language=told.language,
            version=version,
            time_zone=told.time_zone,
            utc_hours=told.utc_hours,
        )

    def _bio(self, account: int, draw: int, version: int) -> str:
        if draw % 10 == 0:
            return ""
        trade, topic, other = TRADES[draw % len(TRADES)], TOPICS[(draw >> 8) % len(TOPICS)], TOPICS[(draw >> 16) % len(TOPICS)]
        words = f"{trade.capitalize()}. {topic.capitalize()} & {other}."
        return f"{words} #nobot" if self._people.says_nobot[account] else words


def _name(draw: int, edits: int) -> str:
    given, family = GIVEN[draw % len(GIVEN)], FAMILY[(draw >> 8) % len(FAMILY)]
    return (f"{given} {family}", given, f"{given} {family[0]}.", f"{given} ({family})")[(draw + edits) % 4]


def _location(draw: int, town: str, country: str, edits: int) -> str:
    return (f"{town}, {country}", town, country, "", f"{town} / everywhere")[(draw + edits) % 5]


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if not number:
            return digits

"""Who somebody is: of which nation, living where, filling in profiles how carefully."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.simulated.world.hashing import mix, unit
from bowerbird.simulated.world.nations.tables import (
    ABROAD,
    ALIASES,
    ANY_ZONES,
    EMIGRATION,
    JOKES,
    NATIONS,
    OTHER_FLAGS,
    Nation,
)

_KINDS = {"empty": 0.18, "joke": 0.16, "nickname": 0.05, "flag": 0.02, "several": 0.03}
"""Shares of locations; the rest name a place."""
_AT_HOME = 0.35
"""Of those abroad who still name their own country, or both."""
_MISSPELT, _LOWER, _UNACCENTED = 0.06, 0.25, 0.25
_ZONE_UNSET, _ZONE_ANY = 0.33, 0.16
_ALIAS, _GIVEN_ALONE = 0.13, 0.25
_BIO_EMPTY, _FLAG_SHOWN, _FLAG_LIKED, _SAYS_HOME = 0.3, 0.06, 0.02, 0.3
_PLAIN = str.maketrans("áàâãäéêëíóôõöúüçÁÀÂÃÉÊÍÓÔÕÚÇñÑ", "aaaaaeeeioooouucAAAAEEIOOOUCnN")


class Shown(Struct, frozen=True, gc=False):
    """What a profile says of where somebody is from."""

    name: str
    bio: str
    location: str
    language: str
    time_zone: str
    """Empty where none is set."""
    utc_hours: int


class Draws:
    """Independent draws in [0, 1) about one account, each by its number."""

    def __init__(self, seed: int, account: int, version: int = 0) -> None:
        self._key = mix(account * 1_000_003 + version, seed ^ 0x2A710)

    def __getitem__(self, number: int) -> float:
        return unit(mix(self._key, number))

    def pick(self, number: int, among: tuple[str, ...]) -> str:
        return among[int(self[number] * len(among))]


def residence(seed: int, account: int, home: int) -> int:
    """The number of the town where somebody lives: that of the community, or one abroad."""
    draws = Draws(seed, account)
    if draws[1] >= EMIGRATION[home]:
        return home
    return ABROAD[home][int(draws[2] * len(ABROAD[home]))]


def shown(seed: int, account: int, home: int, version: int) -> Shown:
    """What the profile says. Places and zones are of where people live; names, languages and words of where they are from."""
    always, now = Draws(seed, account), Draws(seed, account, 1 + version // 7)
    nation, lives = NATIONS[home], residence(seed, account, home)
    zone, hours = _zone(always, NATIONS[lives])
    return Shown(
        name=_name(always, nation),
        bio=_bio(Draws(seed, account, 1_000 + version), nation, NATIONS[lives]),
        location=_location(now, nation, NATIONS[lives]),
        language=_declared(always, nation),
        time_zone=zone,
        utc_hours=hours,
    )


def _location(draws: Draws, nation: Nation, lives: Nation) -> str:
    kind = _kind(draws[10])
    if kind is not None:
        return _no_plain_place(kind, draws, lives)
    if lives is not nation and draws[13] < _AT_HOME:
        both = f"{draws.pick(14, nation.towns)} → {draws.pick(15, lives.towns)}"
        return both if draws[16] < 0.5 else _careless(draws, _place(draws, nation))
    return _careless(draws, _place(draws, lives))


def _kind(chance: float) -> str | None:
    """What a location is, if no plain place."""
    for kind, share in _KINDS.items():
        if chance < share:
            return kind
        chance -= share
    return None


def _no_plain_place(kind: str, draws: Draws, lives: Nation) -> str:
    if kind == "several":
        return f"{draws.pick(11, lives.towns)}{draws.pick(12, _BETWEEN)}{_elsewhere(draws)}"
    return {"empty": "", "joke": draws.pick(11, JOKES), "nickname": draws.pick(11, lives.nicknames), "flag": lives.flag}[kind]


_BETWEEN = (" / ", " | ", " & ", " - ", " e ")


def _elsewhere(draws: Draws) -> str:
    other = NATIONS[int(draws[17] * len(NATIONS))]
    return draws.pick(18, other.towns)


def _place(draws: Draws, nation: Nation) -> str:
    town, country = draws.pick(20, nation.towns), draws.pick(21, nation.country)
    form = int(draws[22] * 10)
    if form < 4:
        return f"{town}, {country}"
    if form < 7:
        return town
    return country if form < 9 else draws.pick(23, (f"{town} - {country}", f"{town} {nation.flag}", f"{country} {nation.flag}"))


def _careless(draws: Draws, text: str) -> str:
    if draws[30] < _UNACCENTED:
        text = text.translate(_PLAIN)
    if draws[31] < _LOWER:
        text = text.lower()
    return _misspelt(draws, text) if draws[32] < _MISSPELT and len(text) > 4 else text


def _misspelt(draws: Draws, text: str) -> str:
    at = 1 + int(draws[33] * (len(text) - 2))
    kind = int(draws[34] * 3)
    if kind == 0:
        return text[:at] + text[at + 1 :]
    return text[:at] + text[at] + text[at:] if kind == 1 else text[: at - 1] + text[at] + text[at - 1] + text[at + 1 :]


def _zone(draws: Draws, lives: Nation) -> tuple[str, int]:
    if draws[40] < _ZONE_UNSET:
        return "", 0
    among = ANY_ZONES if draws[41] < _ZONE_ANY else lives.zones
    return among[int(draws[42] * len(among))]


def _declared(draws: Draws, nation: Nation) -> str:
    chance = draws[45]
    for language, share in nation.languages:
        if chance < share:
            return language
        chance -= share
    return nation.languages[0][0]


def _name(draws: Draws, nation: Nation) -> str:
    if draws[50] < _ALIAS:
        return draws.pick(51, ALIASES)
    given, family = draws.pick(52, nation.given), draws.pick(53, nation.family)
    if draws[54] < _GIVEN_ALONE:
        return draws.pick(55, (given, given.lower(), f"{given} ♡", f"{given}{given[-1] * 2}", f"{given} {family[0]}."))
    return f"{given} {family}".translate(_PLAIN) if draws[56] < _UNACCENTED else f"{given} {family}"


def _bio(draws: Draws, nation: Nation, lives: Nation) -> str:
    if draws[60] < _BIO_EMPTY:
        return ""
    words = draws.pick(61, nation.bios)
    if lives is not nation and draws[62] < _SAYS_HOME:
        words = f"{words} {nation.flag} {draws.pick(63, ('in', '→', '@'))} {lives.flag}"
    elif draws[64] < _FLAG_SHOWN:
        words = f"{words} {nation.flag}"
    elif draws[65] < _FLAG_LIKED:
        words = f"{words} {draws.pick(66, OTHER_FLAGS)}"
    return words

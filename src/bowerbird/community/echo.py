"""TwitterEcho's rule (Oliveira 2011, section 3.4.3), as published: the reference for `membership.py`.

One proof tries to show that an account belongs, the other that it does not; both look at time zone,
location and name. The account is decided if exactly one of them succeeds (table 3.1). An undecided
account is a member if at least 30 of its posts are in a variety of the community.

The thesis draws the order of its questions in two figures (3.14, 3.15) and names the sources of its
lists only. Ours: a place on the list of the community's own, or its time zone, is a proof for it; a
place on the list of large towns elsewhere, the name of another country, or a foreign name is a proof
against it. Places are compared as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from bowerbird.analysis.places.gazetteer import fold
from bowerbird.analysis.variety import echo_variety
from bowerbird.community.countries import large_towns, names_of_country, towns_of
from bowerbird.community.membership import NAME, Sign, Verdict
from bowerbird.community.names import name_log_odds
from bowerbird.community.profiles import LOCATION, TIME_ZONE, clean_field, is_full_name
from bowerbird.community.time_zones import iana_zone
from bowerbird.model import User
from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community

MIN_POSTS = 30
_MOST_WORDS = 4
_FOREIGN = -3.0
"""Names with lower log odds are taken as foreign; the thesis used the list of names of Portugal's registry."""


def classify(user: User, community: Community, posts: Sequence[str] = ()) -> Verdict:
    """Decide by the two proofs, and by the posts where they leave an account undecided."""
    signs = _signs(*map(clean_field, (user.location, user.time_zone, user.name)), community)
    is_for = any(sign.weight > 0 for sign in signs)
    is_against = any(sign.weight < 0 for sign in signs)
    if is_for != is_against:
        return _verdict(YES if is_for else NO, signs)
    if len(posts) >= MIN_POSTS and community.varieties:
        variety = echo_variety(posts)
        if variety in community.varieties:
            return _verdict(YES, (*signs, Sign("variety", 1.0, f"{variety} of {len(posts)} posts")))
    return _verdict(UNDECIDED, signs)


def _verdict(value: str, signs: tuple[Sign, ...]) -> Verdict:
    """The rule has no probabilities: a decision counts as certain."""
    probability = {YES: 1.0, NO: 0.0}.get(value, 0.5)
    log_odds = sum(sign.weight for sign in signs)
    return Verdict(value=value, probability=probability, prior=0.5, log_odds=log_odds, signs=signs)


@lru_cache(maxsize=50_000)
def _signs(location: str, zone: str, name: str, community: Community) -> tuple[Sign, ...]:
    signs: list[Sign] = []
    words = fold(location).replace(",", " ").split()
    pieces = {
        " ".join(words[start : start + size])
        for size in range(1, _MOST_WORDS + 1)
        for start in range(len(words) - size + 1)
    }
    if here := sorted(pieces & _own_places(community)):
        signs.append(Sign(LOCATION, 1.0, ", ".join(here)))
    if away := sorted(pieces & _other_places(community)):
        signs.append(Sign(LOCATION, -1.0, ", ".join(away)))
    if zone and iana_zone(zone) in community.zones:
        signs.append(Sign(TIME_ZONE, 1.0, zone))
    if is_full_name(name):
        ratio = name_log_odds(name, community.name_countries)
        if ratio is not None and ratio < _FOREIGN:
            signs.append(Sign(NAME, -1.0, name))
    return tuple(signs)


@cache
def _own_places(community: Community) -> frozenset[str]:
    names = (
        name for code in community.countries for name in (*towns_of(code), *names_of_country(code))
    )
    return frozenset(map(fold, (*names, *community.own_places)))


@cache
def _other_places(community: Community) -> frozenset[str]:
    names = map(fold, (*large_towns(community.countries), *community.other_places))
    return frozenset(names) - _own_places(community)

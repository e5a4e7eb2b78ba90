"""`echo`: TwitterEcho's two proofs (Oliveira 2011, section 3.4.3), for comparison and for those who want its rule.

One proof tries to show that somebody belongs, the other that somebody does not; both look at time zone, location and name. One of
them alone decides, both or none leave it undecided (table 3.1). What is undecided is decided by the language of posts, where
that is the community's own.

The thesis draws the order of its questions in two figures (3.14, 3.15) and lists its data only by their sources. Ours: a place
that is on the list of the community's own, or the community's time zone, is a proof for it; a place on the list of large towns
elsewhere, another country's name or a foreign name is one against it. Places are looked for as written, not made out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from bowerbird.analysis.community.profile import is_full_name
from bowerbird.analysis.community.signs import Sign, Verdict
from bowerbird.analysis.community.world import large_towns, names_of_countries, towns_of
from bowerbird.analysis.community.zones import zone_named
from bowerbird.analysis.names.fitting import name_fit, tables
from bowerbird.analysis.places.index.names import fold
from bowerbird.analysis.variety import echo_variety
from bowerbird.model import User
from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community

_MOST_WORDS = 4
_FAR = 0.6
"""Below the score that one in twenty has; of a hundred names of the country less than one is so far below."""
LEAST_POSTS = 30
"""With fewer the thesis did not decide by language."""


def proved(user: User, community: Community, posts: Sequence[str] = ()) -> Verdict:
    """What the two proofs say of a profile, and where they leave it undecided, the language of the posts."""
    signs = _signs(user.location or "", user.time_zone or "", user.name or "", community)
    is_for, is_against = any(sign.weight > 0 for sign in signs), any(sign.weight < 0 for sign in signs)
    if is_for != is_against:
        return Verdict(value=YES if is_for else NO, score=float(is_for), signs=signs)
    written = _written(posts, community)
    value = YES if written is not None else UNDECIDED
    return Verdict(value=value, score=1.0 if written else 0.5, signs=(*signs, written) if written else signs)


@lru_cache(maxsize=50_000)
def _signs(location: str, zone: str, name: str, community: Community) -> tuple[Sign, ...]:
    found: list[Sign] = []
    words = _pieces(location)
    if here := sorted(words & _own_places(community)):
        found.append(Sign("place", 1.0, ", ".join(here)))
    if away := sorted(words & _other_places(community)):
        found.append(Sign("place", -1.0, ", ".join(away)))
    if zone and zone_named(zone) in community.zones:
        found.append(Sign("zone", 1.0, zone))
    if is_full_name(name) and community.name_countries and all(_is_foreign(name, code) for code in community.name_countries):
        found.append(Sign("name", -1.0, name))
    return tuple(found)


def _is_foreign(name: str, code: str) -> bool:
    """Whether hardly anybody of a country has such a name; stands for the list of names that Portugal does not register."""
    letters, fit = tables().get(code), name_fit(name, code)
    return letters is not None and fit is not None and fit.score < letters.unlike - _FAR


def _written(posts: Sequence[str], community: Community) -> Sign | None:
    if len(posts) < LEAST_POSTS or not community.varieties:
        return None
    variety = echo_variety(posts)
    return Sign("variety", 1.0, f"{variety} of {len(posts)} posts") if variety in community.varieties else None


def _pieces(text: str) -> frozenset[str]:
    """Every stretch of up to four words."""
    words = fold(text).replace(",", " ").split()
    return frozenset(" ".join(words[at : at + size]) for size in range(1, _MOST_WORDS + 1) for at in range(len(words) - size + 1))


@cache
def _own_places(community: Community) -> frozenset[str]:
    towns = (fold(name) for code in community.countries for name in (*towns_of(code), *names_of_countries(code)))
    return frozenset((*towns, *map(fold, community.own_places)))


@cache
def _other_places(community: Community) -> frozenset[str]:
    return frozenset(map(fold, (*large_towns(community.countries), *community.other_places))) - _own_places(community)

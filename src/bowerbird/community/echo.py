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
from functools import cache

from bowerbird.analysis.places.gazetteer import fold
from bowerbird.analysis.variety import echo_variety
from bowerbird.community.countries import large_towns, places_of
from bowerbird.community.locations import LOCATION
from bowerbird.community.membership import NAME, Sign, Verdict
from bowerbird.community.names import name_log_odds
from bowerbird.community.profiles import TIME_ZONE, clean_field, is_full_name
from bowerbird.community.time_zones import iana_zone
from bowerbird.community.writing import VARIETY
from bowerbird.model import User
from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community

ENOUGH_POSTS = 30
_MOST_WORDS = 4
_FOR, _AGAINST = 1.0, -1.0
_FOREIGN = -3.0
"""Names with lower log odds are taken as foreign; the thesis used the list of names of Portugal's registry."""


def classify(
    user: User, community: Community, posts: Sequence[str] = (), earlier: Sequence[Sign] = ()
) -> Verdict:
    """Decide by the two proofs, and by the posts where they leave an account undecided.

    `earlier`: the signs of the earlier decision. Its variety counts if there are too few posts now.
    """
    location, zone, name = map(clean_field, (user.location, user.time_zone, user.name))
    signs = _proofs(location, zone, name, community)
    sides = {sign.weight for sign in signs}
    if len(sides) == 1:
        value = YES if _FOR in sides else NO
    else:
        variety = [sign for sign in earlier if (sign.kind, sign.weight) == (VARIETY, _FOR)]
        if len(posts) >= ENOUGH_POSTS:
            found = echo_variety(posts)
            sign = Sign(VARIETY, _FOR, f"{found} of {len(posts)} posts")
            variety = [sign] if found in community.varieties else []
        signs = (*signs, *variety)
        value = YES if variety else UNDECIDED
    return Verdict(
        value=value,
        # The rule has no probabilities: a decision counts as certain.
        probability={YES: 1.0, NO: 0.0, UNDECIDED: 0.5}[value],
        prior=0.5,
        log_odds=sum(sign.weight for sign in signs),
        signs=signs,
    )


def _proofs(location: str, zone: str, name: str, community: Community) -> tuple[Sign, ...]:
    words = fold(location).replace(",", " ").split()
    pieces = {
        " ".join(words[start : start + size])
        for size in range(1, _MOST_WORDS + 1)
        for start in range(len(words) - size + 1)
    }
    own, other = _places(community)
    is_own_zone = iana_zone(zone) in community.zones
    ratio = name_log_odds(name, community.name_countries) if is_full_name(name) else None
    is_foreign = ratio is not None and ratio < _FOREIGN
    found = (
        (LOCATION, _FOR, ", ".join(sorted(pieces & own))),
        (LOCATION, _AGAINST, ", ".join(sorted(pieces & other))),
        (TIME_ZONE, _FOR, zone if is_own_zone else ""),
        (NAME, _AGAINST, name if is_foreign else ""),
    )
    return tuple(Sign(kind, side, text) for kind, side, text in found if text)


@cache
def _places(community: Community) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of places of the community, and of places elsewhere."""
    own = set(community.own_places)
    for code in community.countries:
        own.update(places_of(code))
    other = (*large_towns(community.countries), *community.other_places)
    here = frozenset(map(fold, own))
    return here, frozenset(map(fold, other)) - here

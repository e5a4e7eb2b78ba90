"""Whether a server takes a token: asked of the route that tells whose it is."""

from __future__ import annotations

import msgspec

from bowerbird.model import Answer, Facet, Outcome, Request, Trial
from bowerbird.providers.mastodon.reading import outcomes

_PATHS = {"user": "/api/v1/accounts/verify_credentials", "app": "/api/v1/apps/verify_credentials"}
_UNSCOPED = "scope"


def trial(kind: str, profile: Facet) -> Trial:
    limits = tuple(limit for limit in profile.limits if not limit.only_paged)
    return Trial(msgspec.structs.replace(profile, limits=limits), Request(path=_PATHS.get(kind, _PATHS["user"])))


def tried(answer: Answer) -> tuple[Outcome, str]:
    found, words = outcomes.outcome(answer)
    # A token that may not ask this was recognised: it may be good for everything that the crawl asks.
    is_known = found is Outcome.FORBIDDEN_SCOPE and _UNSCOPED in words.casefold()
    return (Outcome.OK if is_known else found), words

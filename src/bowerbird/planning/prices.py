"""What X charges, for plans and in words: its list of pay-per-use prices, as of a date; prices change without notice."""

from __future__ import annotations

from datetime import date

from bowerbird.model.money import in_dollars
from bowerbird.providers.x.billing import BY_CALL, PRICES

AS_OF = date(2026, 11, 15)
X_PRICES = {kind: thousandths / 1000 for kind, thousandths in (PRICES | BY_CALL).items()}
"""For each object returned, each once per UTC day; trends and volumes by the request. Failed calls are free."""
_IN_WORDS = {
    "post": "a post (timelines, searches, hashtags, threads, reposts, quotes, streams)",
    "user": "an account (profiles, who reposted, members of lists)",
    "follow": "an entry of a list of followers or of followed accounts",
    "list": "a list that somebody keeps",
    "like": "a like",
    "trends": "a call for trends",
    "volumes": "a call for how many posts match",
}


def price_list() -> list[tuple[str, str, str]]:
    """What is bought, its price, and what a thousand of it cost."""
    prices = PRICES | BY_CALL
    return [(words, in_dollars(prices[kind]), in_dollars(1_000 * prices[kind])) for kind, words in _IN_WORDS.items()]


def in_a_sentence() -> str:
    """The prices that matter most."""
    return f"{in_dollars(PRICES['post'])} a post, {in_dollars(PRICES['user'])} an account or an entry of a list"


def of_an_event() -> str:
    """What nobody can foresee the number of."""
    post = PRICES["post"]
    return (
        f"Every post that the stream or a probe brings costs {in_dollars(post)}, a thousand {in_dollars(1_000 * post)}: "
        "[stop] dollars bounds what they may spend."
    )

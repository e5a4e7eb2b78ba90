"""What a crawl has spent and may spend, the same on every screen and in every JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from bowerbird.limits.purses import Purse
from bowerbird.model.money import in_dollars, thousandths


def own_purse(purses: Iterable[Purse], crawl: str) -> Purse | None:
    return next((purse for purse in purses if purse.is_crawl and purse.of == crawl), None)


def months(purses: Iterable[Purse]) -> list[Purse]:
    return [purse for purse in purses if not purse.is_crawl]


def month_purse(purses: Iterable[Purse], service: str) -> Purse | None:
    return next((purse for purse in purses if not purse.is_crawl and purse.of == service), None)


def spent_lines(purses: Sequence[Purse], now: datetime) -> list[str]:
    """For each service `$9.94 of $10.00 on api.x.com in November`, and for each crawl `$1.97 of $2.00 by this crawl`."""
    own = [purse for purse in purses if purse.is_crawl]
    return [
        *(month_words(purse, now) for purse in months(purses)),
        *(f"{purse.words} by {'this crawl' if len(own) == 1 else purse.of} in all{_under_way(purse)}" for purse in own),
    ]


def month_words(purse: Purse, now: datetime) -> str:
    return f"{purse.words} on {purse.of} in {now:%B}{_under_way(purse)}"


def _under_way(purse: Purse) -> str:
    return f" (up to {in_dollars(thousandths(purse.reserved))} more is under way)" if purse.reserved else ""


def spent_values(purses: Iterable[Purse], crawl: str) -> dict[str, float | None]:
    """Of one crawl, for machines; nothing is allowed where the month alone limits it."""
    own = own_purse(purses, crawl)
    return {"dollars_spent": own.spent if own else 0.0, "dollars_allowed": own.allowed if own else None}


def month_values(purses: Iterable[Purse]) -> dict[str, dict[str, Any]]:
    """By service what is spent and allowed in this calendar month, for machines."""
    return {
        purse.of: {
            "dollars_spent": purse.spent,
            "dollars_allowed": purse.allowed,
            "dollars_reserved": purse.reserved,
            "resets_at": purse.resets_at,
        }
        for purse in months(purses)
    }

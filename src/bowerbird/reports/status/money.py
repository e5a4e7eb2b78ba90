"""What crawls have spent and may spend, the same for every screen, page and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bowerbird.limits.budget import BudgetStatus


def own_purse(purses: Iterable[BudgetStatus], crawl: str) -> BudgetStatus | None:
    return next((purse for purse in purses if purse.is_crawl and purse.of == crawl), None)


def months(purses: Iterable[BudgetStatus]) -> list[BudgetStatus]:
    return [purse for purse in purses if not purse.is_crawl]


def spent_values(purses: Iterable[BudgetStatus], crawl: str) -> dict[str, float | None]:
    """Of one crawl, for machines; nothing is allowed where the month alone limits it."""
    own = own_purse(purses, crawl)
    return {"dollars_spent": own.spent if own else 0.0, "dollars_allowed": own.allowed if own else None}


def month_values(purses: Iterable[BudgetStatus]) -> dict[str, dict[str, Any]]:
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

"""What a crawl has spent and may spend, in the same words on every screen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bowerbird.limits.budget import BudgetStatus
from bowerbird.model.money import in_dollars, thousandths
from bowerbird.reports.status.money import months


def spent_lines(purses: Sequence[BudgetStatus], now: datetime) -> list[str]:
    """For each service `$9.94 of $10.00 on api.x.com in November`, and for each crawl `$1.97 of $2.00 by this crawl`."""
    own = [purse for purse in purses if purse.is_crawl]
    return [
        *(month_words(purse, now) for purse in months(purses)),
        *(f"{purse.words} by {'this crawl' if len(own) == 1 else purse.of} in all{_under_way(purse)}" for purse in own),
    ]


def month_words(purse: BudgetStatus, now: datetime) -> str:
    return f"{purse.words} on {purse.of} in {now:%B}{_under_way(purse)}"


def _under_way(purse: BudgetStatus) -> str:
    return f" (up to {in_dollars(thousandths(purse.reserved))} more is under way)" if purse.reserved else ""

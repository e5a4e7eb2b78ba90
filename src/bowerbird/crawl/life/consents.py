"""What somebody agreed that a crawl may spend, kept with the crawl."""

from __future__ import annotations

from datetime import datetime

from bowerbird.clock import to_micros
from bowerbird.ports import Transaction

_WRITE = """
insert into consents (crawl, in_all, a_month, agreed_at) select crawl, ?, ?, ? from crawls where name = ?
on conflict (crawl) do update set in_all = excluded.in_all, a_month = excluded.a_month, agreed_at = excluded.agreed_at
"""


async def keep_consent(tx: Transaction, crawl: str, in_all: int | None, a_month: int | None, now: datetime) -> None:
    """In thousandths of a dollar; it replaces what was agreed to before."""
    await tx.execute(_WRITE, in_all, a_month, to_micros(now), crawl)

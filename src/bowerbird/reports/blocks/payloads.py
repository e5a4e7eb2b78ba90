"""What the networks sent, for the rows of a block."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.errors import UserError
from bowerbird.ports import Database
from bowerbird.reports.blocks.block import Block
from bowerbird.reports.blocks.columns import Texts
from bowerbird.reports.blocks.tables import Table
from bowerbird.reports.browsing.items import ItemReader


class Payloads:
    """Looks them up by number."""

    def __init__(self, database: Database, table: Table) -> None:
        self._items = ItemReader(database)
        self._table = table

    async def fill(self, block: Block) -> None:
        """Puts in a column of payloads, None where there is none."""
        if self._table.name not in ("posts", "users"):
            raise UserError(f"no payloads are kept of {self._table.name}", "leave --raw out", code="unsupported")
        numbers = block.values("number")
        found = await (self._items.payloads(numbers) if self._table.name == "posts" else self._profiles(numbers))
        block.columns["raw"] = Texts.of([found.get(number) for number in numbers])

    async def _profiles(self, numbers: Sequence[int]) -> dict[int, bytes | None]:
        return {number: user["raw"] for number, user in (await self._items.users_numbered(numbers, True)).items()}

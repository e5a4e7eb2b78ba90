"""What the networks sent, for the rows of a block."""

from __future__ import annotations

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
        read = {"posts": self._items.posts_numbered, "users": self._items.users_numbered}.get(self._table.name)
        if read is None:
            raise UserError(f"no payloads are kept of {self._table.name}: leave --raw out")
        numbers = block.values("number")
        found = await read(numbers, True)
        block.columns["raw"] = Texts.of([found[number]["raw"] if number in found else None for number in numbers])

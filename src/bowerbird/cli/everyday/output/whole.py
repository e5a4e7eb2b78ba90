"""The output of a command that is written at its end, because nothing can be added to it: Parquet, workbooks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from msgspec import structs

from bowerbird.cli.everyday.output.emitting import Emitter, Ripe
from bowerbird.errors import UserError
from bowerbird.export.rows.endings import whole_format
from bowerbird.export.rows.shapes import Row


class WholeEmitter(Emitter):
    """What was found waits in the store; a command that is interrupted goes on, and writes all of it when it has ended."""

    async def open(self) -> None:
        path = self._target.path
        if self._target.appends:
            raise UserError(
                f"nothing can be added to {path}", "leave --append out, or write CSV or JSON lines", code="unsupported"
            )
        if path is not None and path.exists():
            raise UserError(
                f"{path} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
            )

    async def emit(self, *, with_raw: bool = False, is_ripe: Ripe | None = None) -> None:
        """Only counts, for those who show it."""
        self.position = structs.replace(self.position, rows=await self._reader.count())

    async def finish(self, *, with_raw: bool = False) -> None:
        # Only those who want such a file wait for what it needs to be loaded.
        from bowerbird.export.jobs.whole import write_whole

        path, shape = self._target.path, self._target.shape
        format_ = whole_format(path, self._target.format)
        if path is None or format_ is None:
            raise UserError("this output cannot be written in one go", code="file_unwritable")
        rows = await write_whole(path, format_, shape, self._batches(with_raw))
        self.position = structs.replace(self.position, rows=rows)

    async def _batches(self, with_raw: bool) -> AsyncIterator[Sequence[Row]]:
        last = 0
        while lines := await self._reader.after(last):
            last = lines[-1].number
            yield await self._maker.rows(lines, with_raw=with_raw)

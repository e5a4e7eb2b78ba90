"""`bowerbird forget --apply-to`: earlier exports lose what the store has forgotten or deleted since."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import Output
from bowerbird.cli.which import find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.cleaning.exports import Export, Known, Wanted, find_exports
from bowerbird.export.cleaning.files import Cleaned
from bowerbird.store.forgetting.tombstones import Tombstones, read_tombstones


async def apply_to(written: str, store: str | None, wanted: Wanted, output: Output) -> None:
    """Checks every export there first, so that nothing is changed where one of them cannot be."""
    exports, whole = find_exports(written), Cleaned()
    async with _known(store) as known:
        for export in exports:
            export.check(known)
        for export in exports:
            whole.add(await _applied(export, known, wanted, output))
    words = ("would go", "would lose a name") if wanted.is_dry else ("taken out", "without a name that they had")
    output.line(
        f"{written}: {numbers.many(whole.removed, 'row')} {words[0]}, {numbers.many(whole.changed, 'other row')} {words[1]}, "
        f"{numbers.many(whole.rows, 'row')} in all left."
    )
    figures = {"rows_removed": whole.removed, "rows_changed": whole.changed, "rows": whole.rows}
    output.result({"dry_run": wanted.is_dry, "exports": len(exports), **figures})


async def _applied(export: Export, known: Known, wanted: Wanted, output: Output) -> Cleaned:
    def said(file: str, removed: int) -> None:
        output.progress(f"{file}: {numbers.many(removed, 'row')} to go" if wanted.is_dry else f"{file}: {removed} rows gone")

    return await export.apply(known, wanted, RealClock(), said)


@asynccontextmanager
async def _known(store: str | None) -> AsyncIterator[Known]:
    """A store with all it knows to be gone, or the tombstones of a list."""
    if store is not None and store.endswith(".txt"):
        yield Known(_shared(Path(store)), None, Path(store).name)
        return
    place = find_store(store)
    async with read_store(place, RealClock()) as database:
        yield Known(await read_tombstones(database), database, place.shown)


def _shared(path: Path) -> Tombstones:
    try:
        return Tombstones.of_lines(path.read_text("utf-8").splitlines())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", code="file_unreadable") from error
    except ValueError as error:
        raise UserError(f"{path} is no list that `bowerbird forget --share` wrote: {error}", code="file_damaged") from error

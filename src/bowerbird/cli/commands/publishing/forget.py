"""`bowerbird forget`: people and posts that leave for good, and stay out."""

from __future__ import annotations

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct, structs

from bowerbird.cli.exports.apply_to import apply_to as applied_to
from bowerbird.cli.media_folders import media_remover
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.copying import shown
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.crawl.process.workers.running import living
from bowerbird.db.files.rewriting import rewrite_small
from bowerbird.errors import UserError
from bowerbird.export.cleaning.exports import Wanted
from bowerbird.model import NETWORKS, Subject
from bowerbird.ports import Clock, Database
from bowerbird.reports.histories.meant import Finder, Meant
from bowerbird.store.forgetting.erasing import Erased
from bowerbird.store.forgetting.names import Kind, meanings, words_in
from bowerbird.store.forgetting.requests import Forgetter, Wish, count_known, is_unfinished, read_requests
from bowerbird.store.forgetting.tombstones import Tombstones, read_tombstones, shared_marks


class What(StrEnum):
    USER = "user"
    POST = "post"


class _Asked(Struct, frozen=True, kw_only=True):
    """What the command line says."""

    whom: list[str]
    network: str | None
    subject: Subject | None
    who: str
    why: str
    media: Path | None


def command(
    whom: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ACCOUNT|POST|FILE]…", help="Handles, ids or addresses; a file with one per line; - is standard input."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="FILE|DATABASE", help="A crawl file or its database; default: the only one here."),
    ] = None,
    on: Annotated[str | None, typer.Option("--on", metavar="NETWORK", help=f"For handles alone: {', '.join(NETWORKS)}.")] = None,
    as_: Annotated[What | None, typer.Option("--as", help="For numbers alone: user or post.")] = None,
    who: Annotated[str, typer.Option("--who", help="Who asked for it, for the record; not by name.")] = "not said",
    why: Annotated[str, typer.Option("--why", help="Why, for the record.")] = "on request",
    media: Annotated[
        Path | None, typer.Option("--media", metavar="FOLDER", help="Where pictures and films are, if no crawl file says so.")
    ] = None,
    share: Annotated[
        Path | None, typer.Option("--share", metavar="OUTFILE", help="Write all tombstones to a new file that names nobody.")
    ] = None,
    apply_to: Annotated[
        str | None,
        typer.Option("--apply-to", metavar="EXPORT", help="Take all that is forgotten and deleted out of an earlier export."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how much would go, and change nothing.")] = False,
    is_list: Annotated[bool, typer.Option("--list", help="Show the record of all requests.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before deleting; with --apply-to: edited files too.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Forget people or posts on request: everything of them is deleted, also what others carry, and they are kept out for good.

    It works beside running crawls, and goes on after an interruption when it is called again. Nothing that names them is kept.
    """
    output = Output(as_json=as_json)
    if apply_to is not None:
        _check_alone(bool(whom or share or is_list))
        asyncio.run(applied_to(apply_to, store, Wanted(dry_run, yes), output))
        return
    place = find_store(store)
    if on is not None and on not in NETWORKS:
        raise UserError(f"--on {on} is no network", f"write one of {', '.join(NETWORKS)}", code="unknown_network")
    subject = None if as_ is None else Subject(as_.value)
    asked = _Asked(whom=_written(whom or []), network=on, subject=subject, who=who, why=why, media=media)
    if is_list:
        asyncio.run(_show(place, output))
    elif share is not None:
        asyncio.run(_share(place, share, output))
    else:
        asyncio.run(_forget(place, asked, output, None if dry_run else yes))


def _check_alone(is_more: bool) -> None:
    if is_more:
        raise UserError(
            "--apply-to takes out whom the store has forgotten already",
            "forget people first, then apply that alone",
            code="conflicting_options",
        )


def _written(whom: list[str]) -> list[str]:
    """The names on the command line, and those in files."""
    found: list[str] = []
    for text in whom:
        if text == "-":
            found += sys.stdin.read().splitlines()
        elif "://" not in text and Path(text).is_file():
            found += Path(text).read_text("utf-8").splitlines()
        else:
            found.append(text)
    return [line for each in found if (line := each.partition(" #")[0].strip()) and not line.startswith("#")]


async def _show(place: NamedStore, output: Output) -> None:
    async with opened_store(place, RealClock()) as database, database.reading() as tx:
        requests = await read_requests(tx)
    columns = [name for name in requests[0].__struct_fields__ if name != "done_at"] if requests else []
    rows = [[getattr(each, name) if name != "at" else f"{each.at:%Y-%m-%d %H:%M}" for name in columns] for each in requests]
    output.table("", columns, rows) if requests else output.line("Nobody was forgotten here.")
    output.result({"requests": [structs.asdict(each) for each in requests]})


async def _share(place: NamedStore, path: Path, output: Output) -> None:
    async with opened_store(place, RealClock()) as database, database.reading() as tx:
        lines = list(await shared_marks(tx))
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}", "choose another name", code="file_unwritable") from error
    output.line(f"{numbers.many(len(lines), 'line')} in {path}. Others take them in with: bowerbird forget {path}")
    output.result({"file": path, "lines": len(lines)})


async def _forget(place: NamedStore, asked: _Asked, output: Output, is_sure: bool | None) -> None:
    """`is_sure`: None changes nothing."""
    clock = RealClock()
    async with opened_store(place, clock) as database:
        meant, known = await _meant(database, asked)
        output.line(f"To be forgotten: {_counts(known)}; and every place where others name them.")
        if is_sure is None:
            output.result({"dry_run": True, **_figures(known), "names": len(meant.names)})
            return
        _ask(output, is_sure)
        erased = await _erased(database, clock, place, (asked, meant), output)
        async with database.reading() as tx:
            is_running = bool(await living(tx, None, clock.now()))
        marks = await read_tombstones(database)
    await rewrite_small(place.store, clock)
    output.line(f"Forgotten: {_counts(erased)}. {numbers.many(erased.mentions, 'place')} where others named them: taken out.")
    if is_running or "://" in place.store:
        output.line(f"The last copies between the rows of the database go with: bowerbird scrub {place.file or place.shown}")
    _tell_of_file(place, marks, output)
    output.result({"dry_run": False, **_figures(erased)})


async def _meant(database: Database, asked: _Asked) -> tuple[Meant, Erased]:
    names = [line for line in asked.whom if not line.startswith(("key ", "mark "))]
    async with database.reading() as tx:
        if not asked.whom and not await is_unfinished(tx):
            raise UserError("say whom: a handle, an id, an address, or a file with one per line", "--list shows the record")
        meant = await Finder(database, tx, asked.network, asked.subject).find(names)
        return meant, await count_known(database, tx, meant.users, sorted(meant.posts))


async def _erased(database: Database, clock: Clock, place: NamedStore, what: tuple[_Asked, Meant], output: Output) -> Erased:
    asked, meant = what
    async with database.reading() as tx:
        remove = await media_remover(tx, place, asked.media)
    forgetter = Forgetter(database, clock, remove)
    wish = Wish(
        who=asked.who,
        why=asked.why,
        users=frozenset(meant.users),
        posts=frozenset(meant.posts),
        names=frozenset(meant.names),
        lines=tuple(line for line in asked.whom if line.startswith(("key ", "mark "))),
    )
    _check_record(wish)
    erased = await forgetter.erase(wish)
    erased.add(await forgetter.sweep(shown(output)))
    return erased


def _check_record(wish: Wish) -> None:
    """Who asked and why stays on record, and so must not name the forgotten."""
    said = [written for text in (wish.who, wish.why) for _, written in words_in(text, Kind.TEXT)]
    if any(name in wish.names for written in said for name in meanings(written, Kind.TEXT, None, ())):
        raise UserError("--who and --why stay on record", "write them without the name of whom you forget", code="refused")


def _ask(output: Output, is_sure: bool) -> None:
    if is_sure:
        return
    if output.as_json or not sys.stdin.isatty():
        raise UserError("this deletes for good", "say --yes, or --dry-run to see how much it is", code="needs_agreement")
    typer.confirm("This cannot be undone. Go on?", abort=True)


def _tell_of_file(place: NamedStore, marks: Tombstones, output: Output) -> None:
    """A crawl file is the user's own: it is read, never written."""
    if place.file is not None and marks.named_in(Path(place.file).read_text("utf-8"), Kind.LINE):
        output.line(
            f"{place.file} still names somebody who was forgotten, perhaps as a seed: take that out; it is not asked about."
        )


def _counts(erased: Erased) -> str:
    counted = (
        (erased.users, "account"),
        (erased.posts, "post"),
        (erased.relations, "relation"),
        (len(erased.media), "picture or film" if len(erased.media) == 1 else "pictures or film"),
    )
    return ", ".join(numbers.many(count, word) for count, word in counted)


def _figures(erased: Erased) -> dict[str, int]:
    return {**structs.asdict(erased), "media": len(erased.media)}

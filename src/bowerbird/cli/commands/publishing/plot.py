"""`bowerbird plot`: figures of a store that can go into a paper."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct, structs

from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.plots import drawings
from bowerbird.export.plots.canvas import Canvas, check_name
from bowerbird.export.plots.keyword_drawings import draw_keywords
from bowerbird.ports import Clock, Database
from bowerbird.reports.blocks.moments import end_moment, moment
from bowerbird.reports.completeness import read_completeness
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.delays import read_repost_delays, read_silence
from bowerbird.reports.figures.distributions import read_activity, read_degrees
from bowerbird.reports.figures.growth import read_growth
from bowerbird.reports.figures.volumes import fitting_unit, read_rhythm, read_volumes
from bowerbird.reports.figures.word_counts import read_words
from bowerbird.reports.figures.written import Chosen
from bowerbird.reports.keywords.courses import read_course


class Kind(StrEnum):
    """What can be drawn."""

    VOLUMES = "volumes"
    RHYTHM = "rhythm"
    GROWTH = "growth"
    DEGREES = "degrees"
    ACTIVITY = "activity"
    DELAYS = "delays"
    SILENCE = "silence"
    WORDS = "words"
    KEYWORDS = "keywords"
    COMPLETENESS = "completeness"
    ALL = "all"


class Wanted(Struct, frozen=True, kw_only=True):
    """What a figure is to be about."""

    chosen: Chosen
    unit: Unit
    words: Sequence[str]
    note: str


Drawn = tuple[Canvas, Any]


def command(
    kind: Annotated[Kind, typer.Argument(help="What to draw; `all` draws every one into a folder.", show_choices=True)],
    place: StoreArgument = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The picture (.svg, .png, .pdf), or a folder for `all`; default: KIND.svg.")
    ] = None,
    by: Annotated[Unit | None, typer.Option("--by", help="How long each stretch of time is; default: as it fits.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option("--since", parser=moment, metavar="DAY", help="Only posts written from this day or moment on."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--until", parser=end_moment, metavar="DAY", help="Only posts written to the end of this day."),
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", help="Only posts in this language, such as pt.")] = None,
    word: Annotated[
        list[str] | None,
        typer.Option("--word", help="For `words`, several, and `keywords`: a word, or a #hashtag."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw volumes, rhythms, growth, distributions, delays, silences, words, keywords or completeness. Changes nothing.

    Times are in UTC. With --json the numbers behind the figure are printed as well.
    """
    output, found = Output(as_json=as_json), find_store(place)
    chosen = Chosen(since=since, until=until, language=lang)
    kinds = [each for each in Kind if each is not Kind.ALL] if kind is Kind.ALL else [kind]
    files = _files(kind, kinds, out)
    wanted = Wanted(chosen=chosen, unit=by or Unit.DAY, words=word or (), note=_note(found, chosen))
    drawn = asyncio.run(_draw(found, kinds, wanted, is_fitting=by is None))
    for each, (canvas, _) in drawn.items():
        canvas.save(files[each])
        output.line(f"{files[each]}")
    numbers = {each.value: values for each, (_, values) in drawn.items()}
    output.result({"store": found.shown, "files": {each.value: str(path) for each, path in files.items()}, "figures": numbers})


def _files(kind: Kind, kinds: Sequence[Kind], out: Path | None) -> dict[Kind, Path]:
    """Where each figure goes; raises `UserError` before anything is read."""
    if kind is not Kind.ALL:
        path = out or Path(f"{kind.value}.svg")
        check_name(path)
        return {kind: path}
    folder = out or Path("figures")
    if folder.suffix:
        raise UserError(
            f"`plot all` writes into a folder, and {folder} looks like a file", "leave its ending out", code="conflicting_options"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return {each: folder / f"{each.value}.svg" for each in kinds}


def _note(place: NamedStore, chosen: Chosen) -> str:
    """What a figure rests on, in one line."""
    parts = [f"Source: {Path(place.store).name if '://' not in place.store else place.shown}, collected with bowerbird"]
    parts += [f"language {chosen.language}"] if chosen.language else []
    parts += [f"since {chosen.since:%Y-%m-%d %H:%M}"] if chosen.since else []
    parts += [f"until {chosen.until:%Y-%m-%d %H:%M}"] if chosen.until else []
    return "; ".join(parts)


async def _draw(place: NamedStore, kinds: Sequence[Kind], wanted: Wanted, *, is_fitting: bool) -> dict[Kind, Drawn]:
    """`is_fitting`: stretches of time are to be as long as fits what is there."""
    clock = RealClock()
    async with read_store(place, clock) as database:
        if is_fitting:
            async with database.reading() as tx:
                wanted = structs.replace(wanted, unit=await fitting_unit(tx, wanted.chosen))
        return {kind: await _DRAWN[kind](database, clock, wanted) for kind in kinds}


async def _volumes(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_volumes(tx, wanted.chosen, wanted.unit)
    return drawings.draw_volumes(found, wanted.unit, wanted.note), msgspec.to_builtins(found)


async def _rhythm(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_rhythm(tx, wanted.chosen)
    return drawings.draw_rhythm(found, wanted.note), found


async def _growth(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    found = await read_growth(database, wanted.unit, clock)
    return drawings.draw_growth(found, wanted.note), msgspec.to_builtins(found)


async def _degrees(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_degrees(tx)
    return drawings.draw_degrees(found, wanted.note), found


async def _activity(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_activity(tx, wanted.chosen)
    return drawings.draw_activity(found, wanted.note), found


async def _delays(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_repost_delays(tx, wanted.chosen)
    return drawings.draw_delays(found, wanted.note), found


async def _silence(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_silence(tx, wanted.chosen, clock)
    return drawings.draw_silence(found, wanted.note), msgspec.to_builtins(found)


async def _words(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_words(tx, wanted.words, wanted.chosen, wanted.unit)
    values = [{"word": each.word, "posts": {str(at): posts for at, posts in each.posts.items()}} for each in found]
    return drawings.draw_words(found, wanted.unit, wanted.note), values


async def _keywords(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    async with database.reading() as tx:
        found = await read_course(tx, None, wanted.words[0] if wanted.words else None)
    return draw_keywords(found, wanted.note), msgspec.to_builtins(found)


async def _completeness(database: Database, clock: Clock, wanted: Wanted) -> Drawn:
    days = (await read_completeness(database, ("day",)))["day"].lines
    return drawings.draw_completeness(days, wanted.note), msgspec.to_builtins(days)


_DRAWN: dict[Kind, Callable[[Database, Clock, Wanted], Awaitable[Drawn]]] = {
    Kind.VOLUMES: _volumes,
    Kind.RHYTHM: _rhythm,
    Kind.GROWTH: _growth,
    Kind.DEGREES: _degrees,
    Kind.ACTIVITY: _activity,
    Kind.DELAYS: _delays,
    Kind.SILENCE: _silence,
    Kind.WORDS: _words,
    Kind.KEYWORDS: _keywords,
    Kind.COMPLETENESS: _completeness,
}

"""`bowerbird keywords`: show, explain, pin and block the keywords of an event crawl; propose seeds; grade by labels."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bowerbird.cli.keywords import labelling, showing
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, NamedStore, StoreArgument, crawl_of_file, find_store, opened_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.plots.canvas import check_name
from bowerbird.flows.language.spelling import meant
from bowerbird.keywords.keyword_set import parse_keyword
from bowerbird.keywords.rows import apply_order
from bowerbird.model import Box
from bowerbird.ports import Database
from bowerbird.reports.blocks.moments import end_moment, moment
from bowerbird.reports.keywords.courses import read_course, read_moves
from bowerbird.reports.keywords.explaining import explain, related_terms
from bowerbird.reports.keywords.grading import grade
from bowerbird.reports.keywords.proposing import Wish, propose
from bowerbird.reports.keywords.reading import (
    find_event,
    read_candidates,
    read_frames,
    read_keywords,
    read_methods,
    read_thresholds,
)
from bowerbird.reports.keywords.silence import read_silence

_MOST_FRAMES = 50
_MOST_MOVES = 20


class Action(StrEnum):
    """What the command does."""

    SHOW = "show"
    WHY = "why"
    PIN = "pin"
    BLOCK = "block"
    FREE = "free"
    SEEDS = "seeds"
    GRADE = "grade"


_USES: Mapping[str, tuple[Action, ...]] = {
    "--related": (Action.SHOW,),
    "--frames": (Action.SHOW, Action.GRADE),
    "--plot": (Action.SHOW, Action.WHY),
    **dict.fromkeys(("--since", "--until", "--box", "--like"), (Action.SEEDS,)),
    "--labels": (Action.GRADE,),
}
"""Which actions an option is for."""


class _Asked(Struct, frozen=True, kw_only=True):
    """The store, crawl and term of a command."""

    place: NamedStore
    crawl: str | None
    term: str
    output: Output


def command(
    place: StoreArgument = None,
    action: Annotated[str | None, typer.Argument(metavar="[ACTION]", help=f"{', '.join(Action)}; default: show.")] = None,
    term: Annotated[
        str | None,
        typer.Argument(metavar="[TERM]", help="For why, pin, block, free, show --plot: a #hashtag, word, phrase, @account."),
    ] = None,
    crawl: CrawlOption = None,
    frames: Annotated[
        bool,
        typer.Option("--frames", help="Show posts and changes of the last frames; with grade: posts and noise."),
    ] = False,
    related_to: Annotated[str | None, typer.Option("--related", metavar="TERM", help="Show the terms in the same posts.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw volumes, keywords over time, and TERM's traffic.")] = None,
    who: Annotated[str, typer.Option("--who", help="Your name, recorded with orders and labels.")] = "user",
    since: Annotated[
        datetime | None, typer.Option("--since", parser=moment, metavar="DAY", help="For seeds: posts from this moment on.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option("--until", parser=end_moment, metavar="DAY", help="For seeds: posts before this moment.")
    ] = None,
    box: Annotated[str | None, typer.Option("--box", help="For seeds: posts within west,south,east,north.")] = None,
    like: Annotated[list[str] | None, typer.Option("--like", help="For seeds: an example post; may be given often.")] = None,
    labels: Annotated[Path | None, typer.Option("--labels", help="For grade: a CSV of term, label and perhaps tagger.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the keywords of an event crawl: posts and claimed precision of each, since when and why; and the candidates.

    `why TERM` explains one. `pin` keeps a term, `block` keeps it out, and `free` lets the methods decide again; a running
    crawl follows within half a minute. `seeds` proposes keywords from the posts of a store. `grade` measures the
    collection by labels of keywords (related, possibly, unrelated, unknown), from a file or typed in.
    """
    if plot is not None:
        check_name(plot)
    place, does, term = _words(place, action, term)
    given = {"--frames": frames, "--related": related_to, "--plot": plot, "--since": since, "--until": until}
    _check(does, term, {**given, "--box": box, "--like": like, "--labels": labels}, place or "STORE")
    output = Output(as_json=as_json)
    asked = _Asked(place=find_store(place), crawl=crawl, term=term or related_to or "", output=output)
    if does is Action.SEEDS:
        wish = Wish(since=since, until=until, box=_box(box), examples=tuple(like or ()))
        output.result(asyncio.run(_seeds(asked, wish)))
    elif does is Action.GRADE:
        output.result(asyncio.run(_grade(asked, labels, who, is_by_frame=frames)))
    elif does in (Action.PIN, Action.BLOCK, Action.FREE):
        output.result(asyncio.run(_order(asked, does, who)))
    elif does is Action.WHY:
        output.result(asyncio.run(_why(asked, plot)))
    else:
        output.result(asyncio.run(_show(asked, plot, related_to=related_to, is_by_frame=frames)))


def _words(place: str | None, action: str | None, term: str | None) -> tuple[str | None, Action, str | None]:
    """Return place, action and term; the place may be left out before an action."""
    if place in list(Action) and term is None and not Path(place).exists():
        place, action, term = None, place, action
    known = [each.value for each in Action]
    if action is not None and action not in known:
        raise UserError(
            f"Unknown action {action!r}{meant(action, known)}.", f"Use one of: {', '.join(known)}.", code="unknown_name"
        )
    return place, Action(action or Action.SHOW), term


def _check(action: Action, term: str | None, given: Mapping[str, object], place: str) -> None:
    """Raise `UserError` if a term is missing, or if the action does not use an option."""
    if action in (Action.WHY, Action.PIN, Action.BLOCK, Action.FREE) and not term:
        quoted = ". Quote it, because # starts a comment in a shell."
        raise UserError("Which keyword?", f"Use bowerbird keywords {place} {action} '#hashtag'{quoted}", code="needs_option")
    if term:
        parse_keyword(term)
    for option in (option for option, value in given.items() if value and action not in _USES[option]):
        raise UserError(
            f"{option} has no effect for {action}, only for {' and '.join(_USES[option])}.", "Leave it out.", code="unknown_name"
        )
    if term and (action in (Action.SEEDS, Action.GRADE) or (action is Action.SHOW and not given["--plot"])):
        raise UserError(
            f"{action} takes no keyword.", f"To explain one, use bowerbird keywords {place} why '{term}'.", code="unsupported"
        )


async def _event(database: Database, asked: _Asked) -> tuple[int, str]:
    name = asked.crawl or await crawl_of_file(database, asked.place)
    async with database.reading() as tx:
        return await find_event(tx, name)


async def _show(asked: _Asked, plot: Path | None, *, related_to: str | None, is_by_frame: bool) -> dict[str, Any]:
    output = asked.output
    async with read_store(asked.place, RealClock()) as database:
        crawl, name = await _event(database, asked)
        async with database.reading() as tx:
            figure = await _plot(tx, asked, name, plot) if plot is not None else {}
            if figure and related_to is None and not is_by_frame:
                return figure
            if related_to is not None:
                found = await related_terms(tx, crawl, parse_keyword(related_to))
                showing.show_related(output, parse_keyword(related_to), found)
                return {**figure, "crawl": name, "term": parse_keyword(related_to), "related": msgspec.to_builtins(found)}
            lines, methods = await read_keywords(tx, crawl), await read_methods(tx, crawl)
            _, moves = await read_moves(tx, crawl, _MOST_MOVES)
            candidates, thresholds = await read_candidates(tx, crawl), await read_thresholds(tx, crawl)
            frames = await read_frames(tx, crawl, _MOST_FRAMES) if is_by_frame else []
            silence = await read_silence(tx, crawl)
    if is_by_frame:
        showing.show_frames(output, frames)
    else:
        showing.show_keywords(output, name, lines, methods, moves[:_MOST_MOVES], candidates, thresholds)
    if silence:
        output.line(f"! {silence}")
    parts = {
        "keywords": lines,
        "methods": methods,
        "moves": moves,
        "candidates": candidates,
        "thresholds": thresholds,
        **({"frames": frames} if is_by_frame else {}),
    }
    return {**figure, "crawl": name, "silence": silence, **{key: msgspec.to_builtins(value) for key, value in parts.items()}}


async def _plot(tx: Any, asked: _Asked, name: str, path: Path) -> dict[str, Any]:
    from bowerbird.export.plots.keyword_drawings import draw_keywords

    course = await read_course(tx, name, asked.term or None)
    draw_keywords(course, f"Source: {asked.place.shown}, collected with bowerbird").save(path)
    asked.output.line(str(path))
    return {"crawl": name, "file": str(path), "figure": msgspec.to_builtins(course)}


async def _why(asked: _Asked, plot: Path | None) -> dict[str, Any]:
    async with read_store(asked.place, RealClock()) as database:
        crawl, name = await _event(database, asked)
        async with database.reading() as tx:
            explained = await explain(tx, crawl, parse_keyword(asked.term))
            thresholds = await read_thresholds(tx, crawl)
            followed = {line.term for line in await read_keywords(tx, crawl)}
            figure = await _plot(tx, asked, name, plot) if plot is not None else {}
    showing.show_why(asked.output, explained, thresholds, meant(explained.term, followed))
    return {**figure, "crawl": name, **msgspec.to_builtins(explained), "thresholds": msgspec.to_builtins(thresholds)}


async def _order(asked: _Asked, action: Action, who: str) -> dict[str, Any]:
    clock = RealClock()
    async with opened_store(asked.place, clock) as database:
        crawl, name = await _event(database, asked)
        async with database.transaction() as tx:
            changed = await apply_order(tx, crawl, action.value, asked.term, who, clock.now())
    form = parse_keyword(asked.term)
    done = {"pin": "is pinned", "block": "is blocked", "free": "is released to the methods"}[action.value]
    asked.output.line(f"{form} {done}" + (f" ({', '.join(changed)})." if changed else "; no keyword changed."))
    return {"crawl": name, "term": form, "said": action.value, "who": who, "changed": changed}


async def _seeds(asked: _Asked, wish: Wish) -> dict[str, Any]:
    if wish == Wish():
        raise UserError(
            "Which posts belong to the event?",
            "Use --since and --until, --box, or --like with the text of a post.",
            code="needs_option",
        )
    async with read_store(asked.place, RealClock()) as database, database.reading() as tx:
        found = await propose(tx, database.dialect, wish)
    showing.show_proposals(asked.output, found)
    return {"store": asked.place.shown, **msgspec.to_builtins(found)}


async def _grade(asked: _Asked, labels: Path | None, tagger: str, *, is_by_frame: bool) -> dict[str, Any]:
    given = labelling.labels_in(labels, tagger) if labels is not None else []
    async with opened_store(asked.place, RealClock()) as database:
        crawl, name = await _event(database, asked)
        if given:
            await labelling.keep(database, crawl, given)
        elif not asked.output.as_json:
            await labelling.ask(database, crawl, tagger)
        async with database.reading() as tx:
            graded = await grade(tx, crawl)
    showing.show_grades(asked.output, graded)
    if is_by_frame:
        showing.show_graded_frames(asked.output, graded, _MOST_FRAMES)
    told = msgspec.to_builtins(graded)
    for method in () if is_by_frame else told["methods"]:
        del method["frames"]
    return {"crawl": name, **told}


def _box(written: str | None) -> Box | None:
    if written is None:
        return None
    try:
        west, south, east, north = map(float, written.split(","))
        is_on_earth = abs(west) <= 180 and abs(east) <= 180 and -90 <= south <= north <= 90
    except ValueError:
        is_on_earth = False
    if not is_on_earth:
        raise UserError(f"Invalid --box {written!r}.", "Use west,south,east,north in degrees, such as -9.5,38.6,-9.0,38.9.")
    return Box(west, south, east, north)

"""`bowerbird card`: the dataset card of a store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from bowerbird.app import vocabulary
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, StoreArgument, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.export.card.blocks import Picture
from bowerbird.export.card.croissant import PublishedFile, as_croissant, published_files
from bowerbird.export.card.markdown import as_markdown
from bowerbird.export.card.page import as_page
from bowerbird.export.card.sheet import Told, make_sheet
from bowerbird.export.plots import drawings
from bowerbird.export.plots.canvas import Canvas, is_installed
from bowerbird.flows.files.crawl_file import read_crawl_file
from bowerbird.flows.files.sections.card_words import CardWords
from bowerbird.ports import Database
from bowerbird.reports.dataset.facts import DatasetFacts, read_facts
from bowerbird.reports.figures.distributions import read_activity
from bowerbird.reports.figures.volumes import fitting_unit, read_rhythm, read_volumes
from bowerbird.reports.figures.written import Chosen

_FIGURES = {
    "volumes.svg": "Posts by the time at which they were written",
    "rhythm.svg": "At which hours of the week people write",
    "activity.svg": "How unevenly people write",
    "completeness.svg": "What was captured of each day, and what is known to be missing",
}

Words = Annotated[str, typer.Option(help="Instead of what the crawl file says in [card].")]


def command(
    place: StoreArgument = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder that the card goes into.")] = Path("card"),
    title: Words = "",
    purpose: Words = "",
    licence: Words = "",
    contact: Words = "",
    citation: Words = "",
    author: Annotated[list[str] | None, typer.Option("--author", help="Who collected it; may be given several times.")] = None,
    export: Annotated[
        list[Path] | None, typer.Option("--export", help="An export that goes out with it: its files are in croissant.json.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the dataset card: what was asked, when and how, what came of it, what is missing and why, what was deleted.

    card.md, card.html and croissant.json (metadata for machines) with figures, into a folder. What was there is replaced.
    """
    output, found = Output(as_json=as_json), find_store(place)
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file", "name a folder, which is made if it is not there", code="already_exists")
    published = [file for each in export or () for file in published_files(each)]
    said = {"title": title, "purpose": purpose, "licence": licence, "contact": contact, "citation": citation}
    facts, canvases = asyncio.run(_read(found))
    words = structs.replace(_words(found, facts), **{name: text for name, text in said.items() if text})
    if author:
        words = structs.replace(words, authors=tuple(author))
    pictures = tuple(Picture(f"figures/{name}", _FIGURES[name]) for name in canvases)
    files = _write(out, Told(facts=facts, words=words, figures=pictures), canvases, published)
    for file in files:
        output.line(str(file))
    if not canvases:
        output.line("Figures are left out: install them with `pip install 'bowerbird[export]'`.")
    unsaid = [name for name in ("title", "purpose", "authors", "licence", "contact") if not getattr(words, name)]
    if unsaid:
        output.line(f"Not said yet: {', '.join(unsaid)}. Write them into [card] of the crawl file, or give them as options.")
    output.result({"store": found.shown, "files": [str(file) for file in files], "unsaid": unsaid})


async def _read(place: NamedStore) -> tuple[DatasetFacts, dict[str, Canvas]]:
    clock = RealClock()
    async with read_store(place, clock) as database:
        facts = await read_facts(database, clock.now())
        return facts, await _drawn(database, facts) if is_installed() else {}


async def _drawn(database: Database, facts: DatasetFacts) -> dict[str, Canvas]:
    async with database.reading() as tx:
        everything = Chosen()
        unit = await fitting_unit(tx, everything)
        return {
            "volumes.svg": drawings.draw_volumes(await read_volumes(tx, everything, unit), unit, ""),
            "rhythm.svg": drawings.draw_rhythm(await read_rhythm(tx, everything), ""),
            "activity.svg": drawings.draw_activity(await read_activity(tx, everything), ""),
            "completeness.svg": drawings.draw_completeness(facts.days, ""),
        }


def _words(place: NamedStore, facts: DatasetFacts) -> CardWords:
    """What the crawl file says now, or else what the last crawl that was told anything was told."""
    if place.file is not None:
        return read_crawl_file(Path(place.file), vocabulary(), may_lack_seeds=True).card
    told = [crawl.words for crawl in facts.crawls if crawl.words != CardWords()]
    return told[-1] if told else CardWords()


def _write(out: Path, told: Told, canvases: dict[str, Canvas], published: Sequence[PublishedFile]) -> list[Path]:
    (out / "figures").mkdir(parents=True, exist_ok=True)
    drawn: dict[str, bytes] = {}
    for name, canvas in canvases.items():
        path = out / "figures" / name
        canvas.save(path)
        drawn[f"figures/{name}"] = path.read_bytes()
    sheet = make_sheet(told)
    contents = {
        "card.md": as_markdown(sheet).encode(),
        "card.html": as_page(sheet, drawn).encode(),
        "croissant.json": as_croissant(told, published),
    }
    for name, content in contents.items():
        half = out / f".{name}"
        half.write_bytes(content)
        half.replace(out / name)
    return [out / name for name in contents]

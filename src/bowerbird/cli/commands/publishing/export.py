"""`bowerbird export`: what a store holds, as files for other programs."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from bowerbird.cli.exports.pace import Pace
from bowerbird.cli.keys.pseudonym_key import pseudonym_key
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import NamedStore, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.errors import UserError
from bowerbird.export.jobs.manifest import Manifest, Source
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.jobs.request import Request, export, format_of, shape_of
from bowerbird.export.jobs.streaming import stream
from bowerbird.model.items import Judged
from bowerbird.reports.blocks.moments import end_moment, moment
from bowerbird.reports.blocks.selection.choosing import Choice, at_least

_WHAT = (
    "posts, users, follows, reactions, media, judgements, calls, keywords, candidates, labels, module_runs or growth; "
    "network: a graph."
)
_OUT = "A file, a folder, or s3://BUCKET/FOLDER; -: standard output (default)."
_FORMAT = "jsonl, csv, xlsx, parquet or ids; default: by the ending of the name."
_WORD = "With this in the text, or this #hashtag; may be repeated."
_KIND = "Of posts: post, reply, repost or quote; of media: image or video; of a network: follow, mention, co-hashtag …"
_LEAST = "A counter has reached this (likes=100; of users: followers=1000; of edges of a network: weight=2)."
_SAMPLE = "So many rows, or a share such as 0.01, chosen by chance."


def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=_WHAT)],
    place: Annotated[str | None, typer.Argument(metavar="[FILE|DATABASE]", help="A crawl file or its database.")] = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="PLACE", help=_OUT)] = "-",
    format_: Annotated[str | None, typer.Option("--format", help=_FORMAT)] = None,
    since: Annotated[
        datetime | None, typer.Option("--since", parser=moment, metavar="TIME", help="Not before this time (UTC).")
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--until", parser=end_moment, metavar="TIME", help="To the end of this day, or before this moment."),
    ] = None,
    lang: Annotated[list[str] | None, typer.Option("--lang", help="In this language; may be repeated.")] = None,
    user: Annotated[list[str] | None, typer.Option("--user", help="By this account: an id or a handle; may be repeated.")] = None,
    followed: Annotated[list[str] | None, typer.Option("--followed", help="Of follows: whom; may be repeated.")] = None,
    word: Annotated[list[str] | None, typer.Option("--word", help=_WORD)] = None,
    in_place: Annotated[list[str] | None, typer.Option("--place", help="Judged to belong to this area of a crawl.")] = None,
    judged: Annotated[list[str] | None, typer.Option("--judged", metavar="JUDGE[=VALUE]", help="Judged to be this.")] = None,
    network: Annotated[list[str] | None, typer.Option("--network", help="Of this network; may be repeated.")] = None,
    crawl: Annotated[list[str] | None, typer.Option("--crawl", help="Brought first by this crawl; may be repeated.")] = None,
    with_media: Annotated[bool, typer.Option("--with-media", help="Only posts with pictures or films.")] = False,
    least: Annotated[list[str] | None, typer.Option("--least", metavar="COUNTER=N", help=_LEAST)] = None,
    sample: Annotated[float | None, typer.Option("--sample", metavar="N|SHARE", help=_SAMPLE)] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample: the same chooses the same rows.")] = 0,
    split: Annotated[int | None, typer.Option("--split", min=1, metavar="ROWS", help="Rows of one file.")] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Only ids, one a line.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Payloads as the networks sent them (JSON lines).")] = False,
    only_new: Annotated[bool, typer.Option("--new", help="Only what was found since the last export with --new.")] = False,
    pseudonyms: Annotated[bool, typer.Option("--pseudonyms", help="Keyed hashes instead of ids and handles.")] = False,
    key: Annotated[
        Path | None, typer.Option("--key", help="A file with the key of pseudonyms, made if new; else it is in the vault.")
    ] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="Also what was deleted, where a crawl keeps that.")] = False,
    endpoint: Annotated[str | None, typer.Option("--endpoint", metavar="URL", help="Of an S3 store, if not Amazon's.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help=_KIND)] = None,
    mutual: Annotated[bool, typer.Option("--mutual", help="Of a network: only edges that go both ways.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Write what a store holds to files: nothing that was deleted, and nothing of accounts that asked not to be collected.

    An export that was interrupted goes on when the same command is run again. A manifest beside the files says what they are.
    """
    output, found = Output(as_json=as_json), find_store(place)
    choice = Choice(
        since=since,
        until=until,
        languages=tuple(lang or ()),
        users=tuple(user or ()),
        followed=tuple(followed or ()),
        words=tuple(word or ()),
        places=tuple(in_place or ()),
        judged=tuple(_judged(each) for each in judged or ()),
        deleted=deleted,
        networks=tuple(network or ()),
        kinds=(kind,) if kind and what != "network" else (),
        crawls=tuple(crawl or ()),
        has_media=with_media,
        at_least=tuple(at_least(each) for each in least or ()),
    )
    request = Request(
        what=what,
        out=out,
        format="ids" if ids else format_,
        choice=choice,
        sample=_sample(sample),
        seed=seed,
        split=split,
        raw=raw,
        only_new=only_new,
        pseudonyms=_pseudonyms(key) if pseudonyms or key else None,
        endpoint=endpoint,
        is_mutual=mutual,
    )
    if what == "network":
        if deleted:
            raise UserError("networks are made of what is there", "leave --deleted out", code="unsupported")
        from bowerbird.cli.exports.network_files import write_network

        write_network(output, found, request, kind or "follow")
        return
    if mutual:
        raise UserError("only the edges of a network go both ways", "leave --mutual out, or export network", code="unsupported")
    shape_of(request)
    if out == "-":
        _to_standard_output(found, request, as_json=as_json)
        return
    format_of(request)
    manifest = asyncio.run(_written(found, request, output))
    _tell(output, found, request, manifest)


def _to_standard_output(place: NamedStore, request: Request, *, as_json: bool) -> None:
    if as_json:
        raise UserError("name a file with --out: standard output cannot hold both the rows and the JSON", code="needs_option")

    async def write() -> None:
        async with read_store(place, RealClock()) as database:
            await stream(database, request)

    asyncio.run(write())


async def _written(place: NamedStore, request: Request, output: Output) -> Manifest:
    clock = RealClock()
    pace = Pace(clock, output)
    async with read_store(place, clock) as database:
        source = Source(place.shown, SCHEMA_VERSION)
        manifest = await export(database, request, source, clock, lambda told: pace.tell(told.rows, told.part))
    pace.end()
    return manifest


def _tell(output: Output, place: NamedStore, request: Request, manifest: Manifest) -> None:
    rows, files = manifest.run.rows, len(manifest.files)
    names = manifest.files[0].name if files == 1 else numbers.many(files, "file")
    where = request.out if names == Path(str(request.out)).name else f"{names} in {request.out}"
    output.line(f"{numbers.many(rows, 'row')} of {manifest.what} written: {where}, as {manifest.format}.")
    if request.choice.deleted:
        output.line(
            "What was deleted is in it where a crawl kept it, marked in deleted_at and deleted_why; think before you share it."
        )
    if request.pseudonyms is not None:
        output.line(f"Ids and handles are pseudonyms (key {request.pseudonyms.fingerprint}); the texts are as they were written.")
    told = {"store": place.shown, "what": manifest.what, "out": request.out, "format": manifest.format, "rows": rows}
    output.result(told | {"rows_in_all": manifest.rows, "files": [msgspec.structs.asdict(file) for file in manifest.files]})


def _judged(text: str) -> Judged:
    judge, _, value = text.partition("=")
    return Judged(judge.strip(), value.strip() or None)


def _sample(asked: float | None) -> float | None:
    if asked is not None and (asked <= 0 or (asked > 1 and asked != int(asked))):
        raise UserError(f"--sample {asked} is neither a share below 1 nor a number of rows")
    return asked


def _pseudonyms(key: Path | None) -> Pseudonyms:
    return Pseudonyms(pseudonym_key(key))

"""What somebody wants exported, and how that is carried out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from bowerbird.errors import UserError
from bowerbird.export.jobs.days import DaySink
from bowerbird.export.jobs.destinations import Bucket, Destination, Folder
from bowerbird.export.jobs.job import Job, Manner, begun
from bowerbird.export.jobs.manifest import Manifest, ManifestFile, Run, Source
from bowerbird.export.jobs.naming import ENDINGS, Naming, in_folder, of_file
from bowerbird.export.jobs.pseudonyms import Pseudonyms
from bowerbird.export.jobs.sinks import ParquetSink, Sink, XlsxSink, line_sink, raw_sink
from bowerbird.export.rows.other_shapes import SHAPES
from bowerbird.export.rows.shapes import GONE, Kind, Shape
from bowerbird.flows.language.spelling import meant
from bowerbird.ports import Clock, Database
from bowerbird.reports.blocks.block import Block, Key
from bowerbird.reports.blocks.reading import BlockReader
from bowerbird.reports.blocks.selection.choosing import Choice
from bowerbird.reports.blocks.selection.sampling import RowSample
from bowerbird.reports.blocks.tables import TABLES

_BY_SUFFIX = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".txt": "ids", ".xlsx": "xlsx", ".parquet": "parquet"}
_UNDER_WAY = timedelta(minutes=1)
"""What was found in the last minute may still be joined by earlier rows: it waits for the next `--new`."""
_WITH_IDS = ("posts", "users", "media")


class Request(Struct, frozen=True, kw_only=True):
    """One export."""

    what: str
    out: str
    """A file, a folder, or `s3://BUCKET/FOLDER`."""
    format: str | None = None
    choice: Choice = Choice()
    sample: float | None = None
    """A share below 1, or so many rows."""
    seed: int = 0
    split: int | None = None
    raw: bool = False
    only_new: bool = False
    pseudonyms: Pseudonyms | None = None
    endpoint: str | None = None
    """The address of an object store that is not Amazon's."""
    is_mutual: bool = False
    """Of a network: only edges that go both ways."""


class Told(Struct, frozen=True):
    """How far an export has come."""

    rows: int
    part: float | None
    """Of the table, as far as that can be said."""


async def export(
    database: Database, request: Request, source: Source, clock: Clock, told: Callable[[Told], None] | None = None
) -> Manifest:
    """Writes everything the request asks for, or what is left of it; the database is one moment."""
    destination, naming = destination_of(request, format_of(request))
    try:
        return await _exported(database, request, source, clock, _Out(destination, naming, told))
    finally:
        destination.close()


class _Out(NamedTuple):
    """Where an export goes, and who hears how far it has come."""

    destination: Destination
    naming: Naming
    told: Callable[[Told], None] | None


async def _exported(database: Database, request: Request, source: Source, clock: Clock, out: _Out) -> Manifest:
    shape, format_ = shape_of(request), format_of(request)
    destination, naming, told = out
    file = ManifestFile(destination, naming.manifest)
    now = clock.now()
    run = Run(began_at=now, found_until=now - _UNDER_WAY if request.only_new else None)
    manifest = begun(file, _wanted(request, shape, format_, source), run, only_new=request.only_new)
    if not manifest.files and manifest.run.rows == 0 and not naming.has_parts and destination.has(naming.part(1)):
        raise UserError(
            f"{naming.part(1)} exists already in {destination.shown}",
            "choose another name, or move it away",
            code="already_exists",
        )
    bounds = manifest.run
    choice = structs.replace(request.choice, found_after=bounds.found_after, found_until=bounds.found_until)
    reader = await sampled(database, request, choice)
    job = Job(destination, manifest, file, naming)
    sink = _sink(request, destination, job.next_name, shape, format_)
    return await job.run(reader, sink, await _manner(request, reader, told), clock.now)


def shape_of(request: Request) -> Shape:
    if request.what not in SHAPES:
        names = [*SHAPES, "network"]
        raise UserError(
            f"there is nothing called {request.what!r} to export{meant(request.what, names)}",
            f"there are: {', '.join(names)}",
            code="unknown_name",
        )
    shape = SHAPES[request.what]
    return structs.replace(shape, columns=(*shape.columns, *GONE)) if request.choice.deleted else shape


def format_of(request: Request) -> str:
    """By option, by the ending of the name, or Parquet where a folder is named."""
    suffix = Path(request.out).suffix.lower()
    format_ = request.format or _BY_SUFFIX.get(suffix, "" if suffix else "parquet")
    if format_ not in ENDINGS:
        raise UserError(
            f"cannot tell the format of {request.out}",
            f"name it {', '.join(_BY_SUFFIX)}, or say --format ({', '.join(ENDINGS)})",
            code="unknown_format",
        )
    if format_ == "ids" and request.what not in _WITH_IDS:
        raise UserError(f"{request.what} have no ids of their own", "write them as CSV or JSON lines", code="unsupported")
    if request.raw and (format_ != "jsonl" or request.pseudonyms is not None):
        raise UserError(
            "--raw is for JSON lines, and without --pseudonyms: payloads are as the networks sent them",
            code="conflicting_options",
        )
    return format_


async def sampled(database: Database, request: Request, choice: Choice) -> BlockReader:
    """Reads the chosen rows, or a sample of them."""
    table = TABLES[request.what].with_deleted() if choice.deleted else TABLES[request.what]
    if request.sample is None:
        return BlockReader(database, table, choice)
    if request.sample < 1:
        return BlockReader(database, table, choice, sample=RowSample.share(request.sample, request.seed))
    everything = BlockReader(database, table, choice)
    sample = await RowSample.of_size(int(request.sample), request.seed, table, everything.blocks())
    return BlockReader(database, table, choice, sample=sample)


def destination_of(request: Request, format_: str) -> tuple[Destination, Naming]:
    """Where an export goes, and what its files are called there."""
    is_folder = not Path(request.out).suffix or request.out.endswith("/") or Path(request.out).is_dir()
    if request.out.startswith("s3://"):
        address, _, name = request.out.rpartition("/")
        if is_folder:
            return Bucket(request.out, request.endpoint), in_folder(request.what, format_)
        return Bucket(address, request.endpoint), of_file(name, has_parts=_has_parts(request))
    if is_folder:
        return Folder(Path(request.out)), in_folder(request.what, format_)
    return Folder(Path(request.out).parent), of_file(Path(request.out).name, has_parts=_has_parts(request))


def _has_parts(request: Request) -> bool:
    return request.split is not None or request.only_new


def _sink(request: Request, destination: Destination, name: Callable[[], str], shape: Shape, format_: str) -> Sink:
    if request.raw:
        return raw_sink(destination, name)
    if format_ == "xlsx":
        return XlsxSink(destination, name, shape)
    if format_ != "parquet":
        return line_sink(destination, name, shape, format_)
    is_by_day = not Path(request.out).suffix and any(column.kind is Kind.TIME for column in shape.columns)
    return DaySink(destination, name, shape) if is_by_day else ParquetSink(destination, name, shape)


async def _manner(request: Request, reader: BlockReader, told: Callable[[Told], None] | None) -> Manner:
    last, names = await reader.last(), request.pseudonyms

    def heard(rows: int, key: Key) -> None:
        if told is not None:
            is_counted = last is not None and isinstance(last[0], int) and last[0] > 0
            told(Told(rows, min(1.0, key[0] / last[0]) if is_counted and last else None))

    def changed(block: Block) -> None:
        if names is not None:
            names.change(request.what, block)

    return Manner(split=request.split, raw=request.raw, change=None if names is None else changed, told=heard)


def _wanted(request: Request, shape: Shape, format_: str, source: Source) -> Manifest:
    columns = ["raw"] if request.raw else list(shape.names[:1] if format_ == "ids" else shape.names)
    return Manifest(what=request.what, format=format_, source=source, options=asked(request), columns=columns)


def asked(request: Request) -> dict[str, Any]:
    """What was chosen, as a manifest tells it."""
    told: dict[str, Any] = {
        "choice": request.choice,
        "sample": request.sample,
        "seed": request.seed if request.sample is not None else None,
        "split": request.split,
        "raw": request.raw,
        "mutual": request.is_mutual,
        "pseudonyms": None if request.pseudonyms is None else request.pseudonyms.fingerprint,
    }
    chosen: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({name: value for name, value in told.items() if value}))
    return chosen

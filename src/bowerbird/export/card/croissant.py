"""The card for machines: Croissant metadata (mlcommons.org/croissant), which repositories and search engines read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.export.card.sheet import Told, citation, title_of
from bowerbird.export.jobs.manifest import Manifest
from bowerbird.export.rows.shapes import FOLLOWS, POSTS, USERS, Kind, Shape
from bowerbird.model import CrawlState
from bowerbird.reports.dataset.biases import known_biases

_OWN = (
    "citeAs column conformsTo=dct:conformsTo data@json dataType@vocab equivalentProperty examples@json extract field "
    "fileProperty fileObject fileSet format includes isLiveDataset jsonPath key md5 parentField path recordSet references "
    "regex repeated replace samplingRate separator source subField transform"
)
"""The words of its vocabulary, with where they point or what they hold where that is not the usual."""
_PREFIXES = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
}
_TYPES = {
    Kind.TEXT: "sc:Text",
    Kind.NUMBER: "sc:Integer",
    Kind.REAL: "sc:Float",
    Kind.FLAG: "sc:Boolean",
    Kind.TIME: "sc:DateTime",
    Kind.LIST: "sc:Text",
    Kind.DOCUMENT: "sc:Text",
}
_FORMATS = {
    "csv": "text/csv",
    "jsonl": "application/jsonlines",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "ids": "text/plain",
}
_SHAPES = {shape.name: shape for shape in (POSTS, USERS, FOLLOWS)}


class PublishedFile(Struct, frozen=True, kw_only=True):
    """One file that goes out with the card."""

    name: str
    holds: str
    """`posts`, `users` or `follows`: what its rows are."""
    format: str
    """Such as `text/csv`."""
    sha256: str
    bytes: int


def published_files(export: Path) -> list[PublishedFile]:
    """The files of an export, as its manifests tell them; raises `UserError` where there is none."""
    manifests = sorted(export.glob("_*.manifest.json")) if export.is_dir() else [export.with_name(f"{export.name}.manifest.json")]
    if not manifests or not manifests[0].is_file():
        raise UserError(
            f"{export} has no manifest", "name a file or folder that `bowerbird export` has written", code="file_damaged"
        )
    front = f"{export.name}/" if export.is_dir() else ""
    return [file for path in manifests for file in _told(path, front)]


def _told(path: Path, front: str) -> Iterator[PublishedFile]:
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(f"{path} cannot be read as the manifest of an export: {error}", code="file_damaged") from None
    kind = _FORMATS.get(manifest.format, "application/octet-stream")
    for file in manifest.files:
        name = front + file.name
        yield PublishedFile(name=name, holds=manifest.what, format=kind, sha256=file.sha256, bytes=file.bytes)


def as_croissant(told: Told, files: Sequence[PublishedFile]) -> bytes:
    """JSON-LD; without files it describes the dataset as a whole."""
    return msgspec.json.format(msgspec.json.encode(_dataset(told, files)), indent=2) + b"\n"


def _dataset(told: Told, files: Sequence[PublishedFile]) -> dict[str, Any]:
    facts, words = told.facts, told.words
    dataset: dict[str, Any] = {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title_of(told),
        "description": words.description or words.purpose or title_of(told),
        "datePublished": f"{facts.made_at:%Y-%m-%d}",
        "version": f"{facts.made_at.year}.{facts.made_at.month}.{facts.made_at.day}",
        "citeAs": citation(words, title_of(told), facts.made_at),
        "isLiveDataset": any(crawl.report.state is CrawlState.RUNNING for crawl in facts.crawls),
        "rai:dataCollection": _collected(told),
        "rai:dataBiases": known_biases(facts),
    }
    optional = {"license": words.licence, "url": words.url}
    dataset |= {name: text for name, text in optional.items() if text}
    if words.authors:
        dataset["creator"] = [{"@type": "sc:Person", "name": name} for name in words.authors]
    if facts.written is not None:
        dataset["temporalCoverage"] = f"{facts.written[0]}/{facts.written[1]}"
    if files:
        dataset["distribution"] = [_file(file) for file in files]
        dataset["recordSet"] = list(_record_sets(files))
    return dataset


def _collected(told: Told) -> str:
    flows = sorted({str(crawl.plans[-1].document.get("flow")) for crawl in told.facts.crawls if crawl.plans})
    networks = sorted({service.network for service in told.facts.services})
    asked = f"Collected from {', '.join(networks) or 'no network'} over the networks' own interfaces"
    return f"{asked}; flows: {', '.join(flows) or 'none'}."


def _context() -> dict[str, Any]:
    context: dict[str, Any] = dict(_PREFIXES)
    for word in _OWN.split():
        name, _, kind = word.partition("@")
        name, _, target = name.partition("=")
        context[name] = {"@id": f"cr:{name}", "@type": f"@{kind}"} if kind else target or f"cr:{name}"
    return context


def _file(file: PublishedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.name,
        "name": file.name,
        "contentUrl": file.name,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": file.format,
        "sha256": file.sha256,
    }


def _record_sets(files: Sequence[PublishedFile]) -> Iterator[dict[str, Any]]:
    """The first table of each kind is described column by column."""
    seen: set[str] = set()
    for file in files:
        if file.holds in _SHAPES and file.holds not in seen:
            seen.add(file.holds)
            fields = [_field(_SHAPES[file.holds], number, file) for number in range(len(_SHAPES[file.holds].columns))]
            yield {"@type": "cr:RecordSet", "@id": file.holds, "name": file.holds, "field": fields}


def _field(shape: Shape, number: int, file: PublishedFile) -> dict[str, Any]:
    column = shape.columns[number]
    name = f"{shape.name}/{column.name}"
    return {
        "@type": "cr:Field",
        "@id": name,
        "name": name,
        "description": column.means or column.name.replace("_", " "),
        "dataType": _TYPES[column.kind],
        "source": {"fileObject": {"@id": file.name}, "extract": {"column": column.name}},
    }

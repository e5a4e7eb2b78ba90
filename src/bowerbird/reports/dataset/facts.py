"""The facts of a dataset card, all of one moment."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.db.tables import SCHEMA_VERSION
from bowerbird.flows.consent import Consent
from bowerbird.flows.files.sections.card_words import CardWords
from bowerbird.ports import Database, Transaction
from bowerbird.reports.audits import Audited, latest_audits
from bowerbird.reports.completeness import Entry, Total, read_completeness
from bowerbird.reports.counting.counts import Count, Counter
from bowerbird.reports.reader import Reader
from bowerbird.reports.status.left_out import NotAsked, read_left_out
from bowerbird.reports.status.streams import StreamReport, read_streams
from bowerbird.reports.status.summary import CrawlReport, LedgerReport, Stored
from bowerbird.store.forgetting.requests import read_requests

_PLANS = "select version, since, document from plans where crawl = ? order by version"
_SERVICES = "select name, provider, network, base, flavour from services order by service"
_GONE = "select subject, reason, count(*) as n from deletions group by subject, reason order by 3 desc, 1, 2"
_OPTED_OUT = "select count(*) as n from users where opts_out = 1"
_OUTAGES = "select service, count(*) as n from outages group by service order by service"
_VERSIONS = "select version, min(started_at) as since from workers where version is not null group by version order by 2, 1"
_FILES = "select state, count(*) as n from media_files group by state order by state"
_SETTINGS = "select settings from crawls where crawl = ?"


class PlanVersion(Struct, frozen=True):
    """What a crawl was told to do from a time on."""

    version: int
    since: datetime
    document: dict[str, Any]


class CrawlFacts(Struct, frozen=True, kw_only=True):
    """One crawl: its plans, and what it did."""

    report: CrawlReport
    plans: tuple[PlanVersion, ...]
    words: CardWords
    calls: dict[str, Count]
    """By facet."""

    @property
    def consents(self) -> list[Consent]:
        """What it did about opt-outs, from the first of its plans to the last."""
        return [msgspec.convert(said, Consent) for plan in self.plans if (said := plan.document.get("consent"))]


class ServiceFacts(Struct, frozen=True):
    """A service that was asked, and what it said that it is."""

    name: str
    provider: str
    network: str
    base: str
    flavour: str | None

    @property
    def software(self) -> str:
        told = msgspec.json.decode(self.flavour) if self.flavour else {}
        return " ".join(str(told[key]) for key in ("software", "version") if told.get(key))


class DatasetFacts(Struct, frozen=True, kw_only=True):
    """Everything that a card says and no person has to write."""

    made_at: datetime
    schema: int
    versions: tuple[tuple[str, datetime], ...]
    """Which bowerbird was at work, since when."""
    services: tuple[ServiceFacts, ...]
    crawls: tuple[CrawlFacts, ...]
    stored: Stored
    media_files: dict[str, int]
    kinds: dict[str, Count]
    languages: dict[str, Count]
    ledgers: tuple[LedgerReport, ...]
    streams: tuple[StreamReport, ...]
    outages: dict[str, int]
    left_out: tuple[NotAsked, ...]
    totals: dict[str, dict[str, Total]]
    """Of the completeness ledger, by view and kind of item."""
    days: tuple[Entry, ...]
    opted_out: int
    deleted: dict[tuple[str, str], int]
    """Tombstones by what (`user`, `post`) and reason."""
    requests: int
    """Requests to forget that were carried out."""
    audits: tuple[Audited, ...] = ()
    """The last one of each crawl."""

    @property
    def written(self) -> tuple[date, date] | None:
        """From when to when the stored posts were written."""
        dated = sorted(day.subject for day in self.days if day.subject[:1].isdigit() and day.captured)
        return (date.fromisoformat(dated[0]), date.fromisoformat(dated[-1])) if dated else None

    @property
    def collected(self) -> tuple[datetime, datetime] | None:
        """From the beginning of the first crawl to the last word of any."""
        reports = [crawl.report for crawl in self.crawls]
        return (min(each.created_at for each in reports), max(each.updated_at for each in reports)) if reports else None


async def read_facts(database: Database, now: datetime) -> DatasetFacts:
    """Reads a store that stands still (`one_moment`)."""
    completeness = await read_completeness(database)
    summary = await Reader(database).summary()
    async with database.reading() as tx:
        kinds, languages = await _composition(tx, database)
        return DatasetFacts(
            made_at=now,
            schema=SCHEMA_VERSION,
            versions=tuple((row["version"], from_micros(row["since"])) for row in await tx.fetch(_VERSIONS)),
            services=tuple(ServiceFacts(**dict(row)) for row in await tx.fetch(_SERVICES)),
            crawls=tuple([await _crawl(tx, database, report) for report in summary.crawls]),
            stored=summary.stored,
            media_files={str(row["state"]): int(row["n"]) for row in await tx.fetch(_FILES)},
            kinds=kinds,
            languages=languages,
            ledgers=summary.ledgers,
            streams=await read_streams(tx),
            outages={str(row["service"]): int(row["n"]) for row in await tx.fetch(_OUTAGES)},
            left_out=tuple(await read_left_out(tx)),
            totals={view: each.totals for view, each in completeness.items() if each.totals},
            days=tuple(completeness["day"].lines),
            opted_out=int((await tx.fetch_one(_OPTED_OUT) or {"n": 0})["n"]),
            requests=sum(each.done_at is not None for each in await read_requests(tx)),
            audits=tuple(await latest_audits(tx)),
            deleted={(str(row["subject"]), str(row["reason"])): int(row["n"]) for row in await tx.fetch(_GONE)},
        )


async def _crawl(tx: Transaction, database: Database, report: CrawlReport) -> CrawlFacts:
    plans = [
        PlanVersion(int(row["version"]), from_micros(row["since"]), msgspec.json.decode(row["document"]))
        for row in await tx.fetch(_PLANS, report.crawl)
    ]
    settings = await tx.fetch_one(_SETTINGS, report.crawl)
    told = msgspec.json.decode(settings["settings"] or "{}") if settings else {}
    calls = await Counter(database).by(tx, "calls", "call", {"crawl": "crawl", "facet": "facet"})
    return CrawlFacts(
        report=report,
        plans=tuple(plans),
        words=msgspec.convert(told.get("card", {}), CardWords),
        calls={str(facet): count for (crawl, facet), count in calls.items() if crawl == report.crawl},
    )


async def _composition(tx: Transaction, database: Database) -> tuple[dict[str, Count], dict[str, Count]]:
    """Stored posts by kind and by language as the network tells it, the most first; `unknown`: it does not."""
    found = await Counter(database).by(tx, "posts", "post_no", {"kind": "kind", "language": "language"})
    kinds: dict[str, Count] = {}
    languages: dict[str, Count] = {}
    for (kind, language), count in found.items():
        for table, name in ((kinds, str(kind)), (languages, str(language or "unknown"))):
            had = table.get(name, Count(0))
            table[name] = Count(had.value + count.value, count.is_exact)
    return _most(kinds), _most(languages)


def _most(counts: dict[str, Count]) -> dict[str, Count]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1].value, item[0])))

"""The crawl file: one TOML text that says what to collect, from where, and into which store.

flow = "timelines"
seeds = ["@Gargron", "14715"]

[service]
provider = "mastodon"
base = "https://mastodon.social"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, json, structs

from bowerbird.errors import FlowError, UserError
from bowerbird.flows.consent import Consent, consent_of
from bowerbird.flows.files.community_file import community_searches, crawled_community
from bowerbird.flows.files.flow_file import flow_of
from bowerbird.flows.files.sections.backup_plan import BackupPlan
from bowerbird.flows.files.sections.card_words import CardWords, card_words
from bowerbird.flows.files.sections.keyword_streams import keyword_streams
from bowerbird.flows.files.sections.media_plan import MediaPlan, media_plan
from bowerbird.flows.files.sections.place_plans import PlacePlan, SearchPlan, place_sources
from bowerbird.flows.files.sections.seed_list import SeedList, seed_list
from bowerbird.flows.files.sections.stream_plans import StreamPlan, stream_plans
from bowerbird.flows.files.server_addresses import meant_root
from bowerbird.flows.files.store_named import crawl_name, read_text, store_of
from bowerbird.flows.flow import Flow, Vocabulary
from bowerbird.flows.language.spelling import listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.flows.language.toml_lines import Document, read
from bowerbird.model import TRAITS, Facet, Service
from bowerbird.model.money import DEFAULT_DOLLARS, Budget
from bowerbird.model.subjects.community import Community

CRAWL_KEYS = (
    "name",
    "store",
    "flow",
    "service",
    "services",
    "seeds",
    "streams",
    "places",
    "community",
    "keywords",
    "modules",
    "stop",
    "filters",
    "backup",
    "history",
    "media",
    "concurrency",
    "in_memory",
    "contact",
    "card",
    "consent",
)
BACKUP_KEYS = ("every", "folder", "keep", "media", "endpoint")
HISTORY_KEYS = ("counters",)
OVERLAID = ("stop", "filters", "keywords", "modules")
"""Tables of a crawl file that change those of its flow."""
DAILY = timedelta(days=1)
IN_MEMORY = 512
SERVICE_KEYS = ("name", "provider", "base", "credentials", "dollars", "limits")


class ServicePlan(Struct, frozen=True, kw_only=True):
    """One service the crawl asks, and what is known about it beforehand."""

    service: Service
    credentials: tuple[str, ...] = ()
    """Names in the vault; empty: every credential there that belongs to this server, or none at all."""
    limits: dict[str, dict[str, Any]] = {}
    """By facet (`*` is every facet): what this server allows instead of the provider's table."""
    dollars: float = DEFAULT_DOLLARS
    """What all crawls of the store may spend on it in a calendar month, where it costs anything."""


class CrawlPlan(Struct, frozen=True, kw_only=True):
    """Everything a crawl file says, checked."""

    name: str
    store: str
    """Path of a SQLite file, or a `postgresql://` address."""
    names_store: bool = True
    """Whether the file says where; otherwise the store is named after the crawl."""
    flow: Flow
    services: tuple[ServicePlan, ...]
    seeds: SeedList
    streams: tuple[StreamPlan, ...] = ()
    places: tuple[PlacePlan, ...] = ()
    searches: tuple[SearchPlan, ...] = ()
    """For the places, or to find people of the community, where a network has searches for such."""
    community: Community | None = None
    """Whose people it collects."""
    concurrency: int = 8
    in_memory: int = IN_MEMORY
    """How many tasks of each queue a process holds at most ahead of their calls."""
    """Calls in flight at once."""
    backup: BackupPlan | None = None
    media: MediaPlan | None = None
    counters_every: timedelta = DAILY
    """Counters that alone have changed make a line of history at most once in this time."""
    contact: str = ""
    """Told to the services in the User-Agent."""
    card: CardWords = CardWords()
    """What its authors say of the data."""
    consent: Consent = Consent()
    """Which opt-outs count, and who is kept out whatever they say."""
    skips_bad: bool = False
    """Seeds that cannot be understood are left out, as long as there are others."""
    dollars: float | None = None
    """What this run alone may spend."""
    called: Mapping[str, Any] = {}
    """How the command line called it, which the database remembers."""
    is_joined: bool = False
    """It was read from the database: what is a matter of the machine that has the file (media, backups, lists) is left to it."""
    owned_as: str = ""
    """The owner as whoever has the file calls it; empty: that is us."""

    @property
    def owner(self) -> str:
        """A short name that no other crawl has, for what is left at a service."""
        return self.owned_as or sha256(f"{self.store} {self.name}".encode()).hexdigest()[:8]

    def budget_on(self, service: str) -> Budget:
        """What it may spend on one of its services."""
        a_month = next(each.dollars for each in self.services if each.service.name == service)
        return Budget(crawl=self.name, in_all=self.flow.stop.dollars, a_month=a_month, a_run=self.dollars)

    def told(self) -> str:
        """What the database may remember of the crawl file: no secrets are in it, and no address of the database itself."""
        services = [{name: getattr(s.service, name) for name in ("name", "provider", "base")} for s in self.services]
        told: dict[str, Any] = {"services": services, "concurrency": self.concurrency, "called": self.called}
        if self.card != CardWords():
            told["card"] = self.card
        return json.encode(told).decode()


def read_crawl_file(
    path: Path, vocabulary: Vocabulary, seeds: Sequence[str] = (), name: str | None = None, *, may_lack_seeds: bool = False
) -> CrawlPlan:
    """The plan in a file, with more seeds and perhaps another name; raises `FlowError` naming the line, or the file when it
    cannot be read."""
    return parse_crawl(read_text(path), path, vocabulary, seeds, name, may_lack_seeds=may_lack_seeds)


def parse_crawl(
    text: str,
    path: Path,
    vocabulary: Vocabulary,
    seeds: Sequence[str] = (),
    called: str | None = None,
    *,
    may_lack_seeds: bool = False,
) -> CrawlPlan:
    """The plan in a text, with more seeds and perhaps another name; `path` names it in errors, and relative paths in it start
    from its folder. `may_lack_seeds`: they may have been given on the command line, when the crawl was begun."""
    table = Table(read(text, str(path)))
    table.only(CRAWL_KEYS, "a crawl file")
    name = crawl_name(table, path, called)
    services = _services(table, vocabulary)
    flow = _flow(table, path, vocabulary, services)
    streams = stream_plans(table, [plan.service for plan in services], vocabulary)
    found = place_sources(table, [plan.service for plan in services], vocabulary, listens=bool(streams))
    streams += found.streams
    community = crawled_community(table, path.parent)
    searches = (*found.searches, *community_searches(community, [plan.service for plan in services], vocabulary))
    facets = vocabulary.facets(services[0].service.provider)
    listed_seeds = _seeds(table, path, flow, facets, seeds, may_lack=may_lack_seeds or bool(streams or searches))
    if flow.keywords is not None:
        streams += keyword_streams(table, [plan.service for plan in services], vocabulary, listed_seeds, flow.keywords)
    if not flow.seeds and not streams:
        raise table.wrong("flow", f"the flow {flow.name!r} only listens", "add [[streams]] with a channel", code="missing_value")
    if flow.needs_places and not found.places:
        advice = 'add [[places]] with a name, such as "Lisbon"'
        raise table.wrong("flow", f"the flow {flow.name!r} is about places", advice, code="missing_value")
    if flow.needs_community and community is None:
        example = '[community] with file = "pt.toml" (`bowerbird community new PT` writes one)'
        raise table.wrong("flow", f"the flow {flow.name!r} is about a community", f"add {example}", code="missing_value")
    if unknown := sorted(flow.judges - vocabulary.judges):
        advice = f"conditions may ask: {listed(vocabulary.judges)}"
        where = table.document.naming("judged", unknown[0]) or ("flow",)
        problem = f"nobody judges {listed(unknown)} here{meant(unknown[0], vocabulary.judges)}"
        raise table.document.wrong(where, problem, advice, code="unknown_judge")
    return CrawlPlan(
        name=name,
        store=store_of(table, path, name),
        names_store="store" in table.values,
        flow=flow,
        services=services,
        seeds=listed_seeds,
        streams=streams,
        places=found.places,
        searches=searches,
        community=community,
        concurrency=table.count("concurrency", 8) or 8,
        in_memory=table.count("in_memory", IN_MEMORY) or IN_MEMORY,
        backup=_backup(table, path),
        media=media_plan(table, path.parent),
        counters_every=_counters_every(table),
        contact=table.text("contact"),
        card=card_words(table),
        consent=consent_of(table, path.parent, listed_seeds.file),
    )


def _seeds(table: Table, path: Path, flow: Flow, facets: Mapping[str, Facet], more: Sequence[str], *, may_lack: bool) -> SeedList:
    seeds = seed_list(table, path.parent, is_needed=bool(flow.seeds) and not more and not may_lack)
    subjects = {facets[name].subject for name in flow.seeds if name in facets}
    if seeds.query is not None and seeds.query.subject not in subjects:
        message = f"the query chooses {seeds.query.what}, but the flow {flow.name!r} begins with: {listed(subjects)}"
        raise table.table("seeds").wrong("query", message, code="conflicting_options")
    return structs.replace(seeds, written=(*more, *seeds.written))


def _counters_every(table: Table) -> timedelta:
    inner = table.table("history")
    inner.only(HISTORY_KEYS, "[history]")
    return inner.span("counters", DAILY) or DAILY


def is_crawl(document: Document) -> bool:
    """Whether a TOML document is a crawl file, as against a flow."""
    return "edges" not in document.values and "facets" not in document.values


def _backup(table: Table, path: Path) -> BackupPlan | None:
    if "backup" not in table.values:
        return None
    inner = table.table("backup")
    inner.only(BACKUP_KEYS, "[backup]")
    every = inner.span("every")
    if every is None:
        raise inner.wrong(None, "every is missing", 'write for example: every = "1d"', code="missing_value")
    folder = path.parent / Path(inner.text("folder", "backups")).expanduser()
    media = inner.text("media")
    if media and "media" not in table.values:
        raise inner.wrong(
            "media",
            "media are copied of crawls that fetch them",
            "add [media], or take media out of [backup]",
            code="missing_value",
        )
    if media and "://" not in media:
        media = str(path.parent / Path(media).expanduser())
    elif media and not media.startswith("s3://"):
        raise inner.wrong(
            "media",
            f"media {media!r} is neither a folder nor an object store",
            'write for example "s3://BUCKET/FOLDER"',
            code="invalid_address",
        )
    keep = inner.count("keep", 7) or 7
    return BackupPlan(every=every, folder=str(folder), keep=keep, media=media, endpoint=inner.text("endpoint"))


def _services(table: Table, vocabulary: Vocabulary) -> tuple[ServicePlan, ...]:
    single = [table.table("service")] if "service" in table.values else []
    several = table.tables("services")
    if not single and not several:
        example = '[service]\nprovider = "mastodon"\nbase = "https://mastodon.social"'
        raise table.wrong(None, "no service is named", f"add for example:\n{example}", code="missing_value")
    plans = tuple(_service(inner, vocabulary) for inner in single + several)
    names = [plan.service.name for plan in plans]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise (single + several)[number].wrong(
                "name", f"two services are called {name!r}", "give each its own name", code="already_exists"
            )
    return plans


def _service(table: Table, vocabulary: Vocabulary) -> ServicePlan:
    table.only(SERVICE_KEYS, "a service")
    provider = table.required("provider", 'provider = "mastodon"')
    if provider not in vocabulary.providers:
        known = vocabulary.providers
        raise table.wrong(
            "provider",
            f"unknown provider {provider!r}{meant(provider, known)}",
            f"allowed: {listed(known)}",
            code="unknown_provider",
        )
    base, host = _base(table, TRAITS[provider].base)
    service = Service(name=table.text("name", host), provider=provider, base=base)
    return ServicePlan(
        service=service,
        credentials=table.texts("credentials"),
        limits=_limits(table, provider, vocabulary),
        dollars=_dollars(table, provider, vocabulary),
    )


def _dollars(table: Table, provider: str, vocabulary: Vocabulary) -> float:
    if "dollars" in table.values and not any(facet.is_paid for facet in vocabulary.facets(provider).values()):
        raise table.wrong("dollars", f"{provider} costs nothing", "take dollars out", code="conflicting_options")
    return table.dollars("dollars") or DEFAULT_DOLLARS


def _base(table: Table, usual: str) -> tuple[str, str]:
    base = table.required("base", f'base = "{usual}"')
    parts = urlsplit(base)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise table.wrong("base", f"base {base!r} is not a web address", f'write for example "{usual}"', code="invalid_address")
    if parts.username or parts.password:
        raise table.wrong(
            "base",
            "base must not contain a password",
            "secrets belong into the vault: `bowerbird credentials -h`",
            code="insecure_address",
        )
    if root := meant_root(base):
        raise table.wrong(
            "base",
            f"base {base!r} is no address of a server, but of something on it",
            f'write base = "{root}"',
            code="invalid_address",
        )
    return base.rstrip("/"), parts.netloc


def _limits(table: Table, provider: str, vocabulary: Vocabulary) -> dict[str, dict[str, Any]]:
    facets = vocabulary.facets(provider)
    limits = table.table("limits")
    limits.only([*facets, "*", "together"], f"the limits of a {provider} service")
    found = {facet: _numbers(limits.table(facet)) for facet in limits.values}
    for facet, numbers in found.items():
        try:
            vocabulary.check_limits(provider, {facet: numbers})
        except FlowError:
            raise
        except UserError as error:
            raise limits.failed(facet, error) from None
    return found


def _numbers(table: Table) -> dict[str, Any]:
    """Whole numbers, durations, and one table deeper for a limit by name."""
    return {key: _number(table, key, value) for key, value in table.values.items()}


def _number(table: Table, key: str, value: object) -> Any:
    if isinstance(value, dict):
        return _numbers(table.table(key))
    return table.span(key) if isinstance(value, str) else table.count(key)


def _flow(table: Table, path: Path, vocabulary: Vocabulary, services: tuple[ServicePlan, ...]) -> Flow:
    document = _flow_document(table, path, vocabulary)
    words = vocabulary
    # Where the users' own modules are is looked up only for those who name any.
    modules = words.modules if document.values.get("modules") else None
    flows = [flow_of(document, words.facets(plan.service.provider), words.rankers, words.methods, modules) for plan in services]
    return flows[0]


def _flow_document(table: Table, path: Path, vocabulary: Vocabulary) -> Document:
    """The flow as declared: a named one, overlaid by the file's own `[flow]`, and that by its tables of the top level."""
    whole = table.document
    top: dict[str, Any] = {key: table.table(key).values for key in OVERLAID if key in table.values}
    places = {place: where for place, where in whole.places.items() if place[0] in top}
    if isinstance(table.values.get("flow"), dict):
        own = whole.under("flow")
        inner = Table(own)
        flow = own.without("use")
        if inner.text("use"):
            used = _named_flow(inner.text("use"), inner.wrong("use", ""), path, vocabulary)
            _check_switches(inner, used)
            flow = flow.over(used)
        elif "name" not in own.values:
            flow = Document(own.file, {"name": path.stem, **own.values}, own.places)
    else:
        name = table.required("flow", f'flow = "timelines" (built in: {listed(vocabulary.flows)})')
        flow = _named_flow(name, table.wrong("flow", ""), path, vocabulary)
    if "keywords" in top and "keywords" not in flow.values:
        raise table.wrong(
            "keywords", f"the flow {flow.values.get('name')!r} keeps to its seeds", 'write flow = "event"', code="unsupported"
        )
    return Document(whole.file, top, places).over(flow)


def _check_switches(own: Table, used: Document) -> None:
    """Only what the flow used has can be switched off: another name is a mistake."""
    known = sorted(name for name, _ in Table(used).named("facets"))
    for name, inner in own.named("facets"):
        if name not in known and not inner.truth("on", True):
            message = f"the flow {own.text('use')!r} has no facet {name!r} to switch off{meant(name, known)}"
            raise inner.wrong(None, message, f"it has: {listed(known)}", code="unknown_name")


def _named_flow(name: str, where: FlowError, path: Path, vocabulary: Vocabulary) -> Document:
    if name in vocabulary.flows:
        return read(vocabulary.flows[name], f"built-in flow {name!r}")
    file = path.parent / Path(name).expanduser()
    if name.endswith(".toml") and file.is_file():
        return read(read_text(file), str(file))
    known = f"built in: {listed(vocabulary.flows)}; or the path of a .toml file"
    missing = f"the flow file {str(file)!r} does not exist" if name.endswith(".toml") else f"unknown flow {name!r}"
    code = "file_not_found" if name.endswith(".toml") else "unknown_flow"
    raise FlowError(f"{missing}{meant(name, vocabulary.flows)}", known, code=code, file=where.file, line=where.line)

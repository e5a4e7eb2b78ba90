"""What a card says: the facts of a store and the words of its authors, under the headings of Datasheets for Datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from bowerbird import __version__
from bowerbird.analysis.capture_rate import Captured, Part
from bowerbird.export.card.blocks import Block, Bullets, Code, Listing, Paragraph, Picture, Section, Sheet
from bowerbird.flows.consent import consent_words
from bowerbird.flows.files.sections.card_words import CardWords
from bowerbird.reports.audits import Audited
from bowerbird.reports.completeness import CAUSE_WORDS, Cause, Total
from bowerbird.reports.counting.counts import Count
from bowerbird.reports.dataset.biases import known_biases
from bowerbird.reports.dataset.facts import CrawlFacts, DatasetFacts
from bowerbird.reports.status.limit_names import limit_kind

_UNSAID = "Not stated."
_LANGUAGES = 15


class Told(Struct, frozen=True, kw_only=True):
    """Everything a card is made from."""

    facts: DatasetFacts
    words: CardWords
    figures: Sequence[Picture] = ()


def make_sheet(told: Told) -> Sheet:
    facts, words = told.facts, told.words
    lead = words.description or f"Collected from {', '.join(_networks(facts)) or 'nowhere yet'} with bowerbird."
    return Sheet(
        title_of(told),
        lead,
        (
            Section("At a glance", tuple(_glance(facts))),
            Section("Motivation", (Paragraph(words.purpose or _UNSAID), Paragraph(_by(words)))),
            Section("Composition", tuple(_composition(told))),
            Section("Collection process", tuple(_collection(facts))),
            Section("Completeness", tuple(_completeness(facts))),
            Section("Known biases", (Bullets(tuple(known_biases(facts))),)),
            Section("Consent and deletion", tuple(_consent(told))),
            Section("Preprocessing, cleaning, labelling", tuple(_preprocessing(facts))),
            Section("Uses", (Paragraph(_USES),)),
            Section("Distribution", tuple(_distribution(words, title_of(told), facts.made_at))),
            Section(
                "Maintenance",
                (
                    Paragraph(_MAINTAINED_KEPT if _keeps(facts) else _MAINTENANCE),
                    Paragraph(f"Contact: {words.contact or 'not stated.'}"),
                ),
            ),
        ),
    )


_USES = (
    "Use it for what it was collected for, within the terms of the networks and the law that applies to you. The people in it "
    "wrote in public, but not for this dataset: report on groups rather than persons, and do not try to find out who somebody is."
)
_MAINTENANCE = (
    "What is deleted, suspended or opted out leaves the store when the crawl learns of it. What persons ask to have removed is "
    "removed with bowerbird forget."
)
_MAINTAINED_KEPT = (
    "Whoever opts out leaves the store when the crawl learns of it. What is deleted or suspended stays there, marked with "
    "time and reason, and is left out of exports that do not say in their manifest that it is in them. What persons ask to have "
    "removed is removed with bowerbird forget."
)
_HOLDS = (
    "Posts with author, time, text, language, counters, references, tags, mentions, links and media; accounts with their "
    "profiles; who follows whom, where lists were read; each with its history and with the call that brought it."
)
_MISSING = (
    "What is known to be missing, and why; a range holds the truth in most cases. The command bowerbird completeness tells it "
    "line by line."
)
_AS_SENT = (
    "Texts are as the network sends them, without control characters; the original payloads are kept beside the mapped fields "
    "in the store. Times are in UTC; times that cannot be are marked, and replaced by those of the service."
)


def title_of(told: Told) -> str:
    names = [crawl.report.name for crawl in told.facts.crawls]
    return told.words.title or f"Dataset of the crawl{'s' * (len(names) != 1)} {', '.join(names) or '(none)'}"


def _networks(facts: DatasetFacts) -> list[str]:
    return sorted({service.network for service in facts.services})


def _by(words: CardWords) -> str:
    return f"Collected by {', '.join(words.authors)}." if words.authors else "Who collected it is not stated."


def _glance(facts: DatasetFacts) -> Iterator[Block]:
    stored = facts.stored
    rows: list[tuple[str, str]] = [
        ("posts", _many(stored.posts)),
        ("accounts with a profile", _many(stored.users_seen)),
        ("accounts known by name alone", _many(stored.users_stubs)),
        ("follow relations", _many(stored.relations)),
        ("reactions", _many(stored.reactions)),
        ("files of media on disk", f"{facts.media_files.get('kept', 0):,}"),
    ]
    if facts.written is not None:
        rows.append(("written", f"{facts.written[0]} to {facts.written[1]} (UTC)"))
    if facts.collected is not None:
        rows.append(("collected", f"{_minute(facts.collected[0])} to {_minute(facts.collected[1])}"))
    rows.append(("networks", ", ".join(_networks(facts)) or "none"))
    versions = ", ".join(version for version, _ in facts.versions) or "not recorded"
    rows.append(("collected with", f"bowerbird {versions}; store version {facts.schema}"))
    rows.append(("this card", f"made {_minute(facts.made_at)} by bowerbird {__version__}"))
    yield Listing(("", ""), tuple(rows))


def _composition(told: Told) -> Iterator[Block]:
    facts = told.facts
    yield Paragraph(_HOLDS)
    if facts.kinds:
        yield Listing(("kind of post", "posts"), tuple((kind, count.value) for kind, count in facts.kinds.items()))
    if facts.languages:
        shown = list(facts.languages.items())[:_LANGUAGES]
        rest = sum(count.value for _, count in list(facts.languages.items())[_LANGUAGES:])
        rows = [(name, count.value) for name, count in shown] + ([("others", rest)] if rest else [])
        yield Listing(("language, as stated", "posts"), tuple(rows))
    if not all(count.is_exact for count in (*facts.kinds.values(), *facts.languages.values())):
        yield Paragraph("Counts of kinds and languages are estimated from an even sample of the stored posts.")
    yield from told.figures


def _collection(facts: DatasetFacts) -> Iterator[Block]:
    rows = tuple((each.name, each.network, each.provider, each.base, each.software) for each in facts.services)
    yield Listing(("service", "network", "API", "address", "kind of server"), rows)
    for crawl in facts.crawls:
        yield from _crawl(crawl)
    yield from _limits(facts)
    if facts.streams:
        streams = tuple((each.name, each.service, each.channel, each.events, each.gaps, each.open_gaps) for each in facts.streams)
        yield Listing(("stream", "service", "channel", "events", "gaps", "not filled"), streams)
    if facts.outages:
        yield Bullets(tuple(f"{service} did not answer {count:,} times for a while." for service, count in facts.outages.items()))


def _crawl(crawl: CrawlFacts) -> Iterator[Block]:
    report = crawl.report
    plan: dict[str, Any] = crawl.plans[-1].document if crawl.plans else {}
    flow = plan.get("flow", "of its own")
    why = f" ({report.reason})" if report.reason else ""
    yield Paragraph(
        f"Crawl {report.name}: flow {flow}, begun {_minute(report.created_at)}, last heard of {_minute(report.updated_at)}, "
        f"{report.state}{why}. {report.calls:,} calls brought {report.items:,} items."
    )
    facets: dict[str, Any] = plan.get("facets", {})
    rows = tuple((facet, _ranker(facets.get(facet)), count.value) for facet, count in sorted(crawl.calls.items()))
    if rows:
        yield Listing(("asked for", "who is asked next", "calls"), rows)
    if len(crawl.plans) > 1:
        changes = "; ".join(f"version {each.version} since {_minute(each.since)}" for each in crawl.plans)
        yield Paragraph(f"Its plan was changed on the way: {changes}.")
    if filters := plan.get("filters"):
        yield Paragraph(f"Filters: {filters}.")


def _ranker(use: dict[str, Any] | None) -> str:
    """Who is asked next; what is no part of the flow is asked when it is needed."""
    return "as needed" if use is None else str(use.get("ranker", "fifo"))


def _limits(facts: DatasetFacts) -> Iterator[Block]:
    """Summed over credentials: how many there were and what they are called is nobody's business."""
    spent, refused = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for ledger in facts.ledgers:
        if ledger.bucket.endswith("/money"):
            continue
        key = (ledger.bucket.partition("/")[0], limit_kind(ledger.bucket))
        spent[key] += ledger.spent
        refused[key] += ledger.refused
    rows = tuple((service, what, spent[service, what], refused[service, what]) for service, what in sorted(spent))
    if rows:
        yield Listing(("limit of", "what it counts", "spent", "refused by the service"), rows)


def _completeness(facts: DatasetFacts) -> Iterator[Block]:
    yield Paragraph(_MISSING)
    rows = [_total(view, items, total) for view, totals in facts.totals.items() for items, total in totals.items()]
    if rows:
        yield Listing(("by", "items", "captured", "known missing", "why"), tuple(rows))
    for audit in (each for each in facts.audits if each.found):
        yield Paragraph(_audited(audit))
        yield Listing(
            ("a post within", "accounts", "posts", "lost", "of posts", "per account"), tuple(map(_class, audit.found[1:]))
        )
    if facts.left_out:
        yield Bullets(tuple(f"{each.facet} of {each.service} was not asked for: {each.why}." for each in facts.left_out))


def _audited(audit: Audited) -> str:
    whole = audit.found[0]
    posts, accounts = _part(whole.posts), _part(whole.per_account)
    return (
        f"Audit of {audit.at:%d %B %Y}: up to {audit.newest:,} recent posts of {whole.accounts:,} random members of "
        f"{audit.crawl} were asked for again. Of {whole.wrote:,} posts {posts} are stored; as a mean over accounts {accounts}. "
        "Intervals are of 95 %."
    )


def _class(each: Captured) -> tuple[str, int, int, int, str, str]:
    return each.under, each.accounts, each.wrote, each.lost, _part(each.posts), _part(each.per_account)


def _part(part: Part) -> str:
    return f"{part.share * 100:.1f} % ({part.low * 100:.1f} to {part.high * 100:.1f})"


def _total(view: str, items: str, total: Total) -> tuple[str, str, int, str, str]:
    missing = f"at least {total.low:,}" if total.high is None else f"{total.likely:,} ({total.low:,} to {total.high:,})"
    why = "; ".join(f"{total.causes[cause]:,} {CAUSE_WORDS[cause]}" for cause in Cause if total.causes.get(cause))
    return view, items, total.captured, missing, why


def _consent(told: Told) -> Iterator[Block]:
    facts = told.facts
    yield Paragraph(
        f"{facts.opted_out:,} accounts asked not to be collected; of them and of what they wrote only ids and times are kept."
    )
    if decided := consent_words(each for crawl in facts.crawls for each in crawl.consents):
        yield Bullets(tuple(decided))
    if facts.requests:
        yield Paragraph(
            f"Requests to remove people or posts that were carried out: {facts.requests:,}; nothing of them is in the data."
        )
    rows = tuple((f"{subject}s", reason.replace("_", " "), count) for (subject, reason), count in facts.deleted.items())
    if rows:
        yield Listing(("deleted" if _keeps(facts) else "erased", "why", "how many"), rows)


def _keeps(facts: DatasetFacts) -> bool:
    """Whether a crawl kept what was deleted, at whatever time."""
    return any(each.keeps_deleted for crawl in facts.crawls for each in crawl.consents)


def _preprocessing(facts: DatasetFacts) -> Iterator[Block]:
    yield Paragraph(_AS_SENT)
    if facts.stored.quarantined.value:
        yield Paragraph(f"{facts.stored.quarantined.value:,} items could not be read and are not in the data.")


def _distribution(words: CardWords, title: str, made: datetime) -> Iterator[Block]:
    yield Paragraph(f"Licence: {words.licence or 'not stated.'}")
    if words.url:
        yield Paragraph(f"Where: {words.url}")
    yield Paragraph("How to cite:")
    yield Code(citation(words, title, made))


def citation(words: CardWords, title: str, made: datetime) -> str:
    """In the authors' words, or in the usual ones."""
    authors = ", ".join(words.authors) or "n.n."
    return words.citation or f"{authors} ({made.year}). {title} [Data set]. Collected with bowerbird {__version__}."


def _many(count: Count) -> str:
    return f"{count.value:,}" if count.is_exact else f"about {count.value:,}"


def _minute(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"

"""What such data is known not to show, from how it was collected. Pure: facts in, sentences out."""

from __future__ import annotations

from collections.abc import Iterator

from bowerbird.model import NETWORKS, KeyForm
from bowerbird.reports.completeness import Cause
from bowerbird.reports.dataset.facts import DatasetFacts

_SEARCHES = frozenset({"search", "hashtag", "public", "link", "counts"})
_BY_PLACE = "Posts and accounts count as of a place by what they say of themselves: those who say nothing are not in it."


def known_biases(facts: DatasetFacts) -> list[str]:
    """One sentence or two for each."""
    return list(_all(facts))


def _all(facts: DatasetFacts) -> Iterator[str]:
    facets = {facet for crawl in facts.crawls for facet in crawl.calls}
    networks = {service.network for service in facts.services}
    yield "Only what is public and shown to the credentials used was collected: it is no sample of all that people say."
    if facets & _SEARCHES:
        yield "Searches return what the service indexes and ranks, and the words searched for decide what is in the data."
    if any(NETWORKS[name].keys is KeyForm.LOCAL for name in networks):
        yield "A Mastodon server knows what its own users follow: it has posts of other servers as far as it had received them."
    if "timeline" in facets:
        yield "The accounts whose timelines were read were chosen, or reached from chosen ones: others appear only in passing."
    yield from _streams(facts)
    if facts.opted_out:
        yield f"{facts.opted_out:,} accounts that asked not to be collected are left out, with what they wrote."
    if any(reason for subject, reason in facts.deleted if subject == "post"):
        yield "What was deleted before it was seen is missing, and what was deleted since was erased."
    if _is_missing(facts, Cause.REACH):
        yield "Services list only so many posts of an account or search: old posts of those who write much are missing first."
    if facts.languages:
        yield "Languages are those that the network or the author's software states: they are often wrong in short posts."
    if any(plan.document.get("places") for crawl in facts.crawls for plan in crawl.plans):
        yield _BY_PLACE
    yield "Counters (likes, reposts, replies, followers) are those of the last time an item was seen, not of one moment for all."


def _streams(facts: DatasetFacts) -> Iterator[str]:
    if any(stream.gaps for stream in facts.streams):
        gaps, unfilled = sum(each.gaps for each in facts.streams), sum(each.open_gaps for each in facts.streams)
        yield f"Streams have {gaps:,} gaps, {unfilled:,} of which could not be filled: what was said in them is missing."


def _is_missing(facts: DatasetFacts, cause: Cause) -> bool:
    return any(total.causes.get(cause) for totals in facts.totals.values() for total in totals.values())

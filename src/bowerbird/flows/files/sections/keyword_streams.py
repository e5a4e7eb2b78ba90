"""The streams that an event crawl listens to besides those that its file names: one on each network that has one for keywords."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from bowerbird.errors import UserError
from bowerbird.flows.files.sections.seed_list import SeedList
from bowerbird.flows.files.sections.stream_plans import StreamPlan
from bowerbird.flows.flow import Vocabulary
from bowerbird.flows.keywords import KeywordUse
from bowerbird.flows.language.tables import Table
from bowerbird.model import Service

STREAM_NAME = "keywords"
"""Of the stream that hears the keywords; a stream of the crawl file with this name takes its place."""
_NOTHING_YET = ("bowerbird",)
"""Where seeds were given on the command line when the crawl was begun: its keywords are in the store."""


def keyword_streams(
    table: Table, services: Sequence[Service], vocabulary: Vocabulary, seeds: SeedList, use: KeywordUse
) -> tuple[StreamPlan, ...]:
    """The streams that are added. A network that sends everything needs none where the file names one already."""
    if use.by == "search":
        return ()
    written = table.tables("streams")
    named = {inner.text("service", services[0].name) for inner in written}
    taken = {inner.text("service", services[0].name) for inner in written if inner.text("name") == STREAM_NAME}
    made = (_stream(table, each, vocabulary, seeds, is_named=each.name in named) for each in services if each.name not in taken)
    return tuple(each for each in made if each is not None)


def _stream(table: Table, service: Service, vocabulary: Vocabulary, seeds: SeedList, *, is_named: bool) -> StreamPlan | None:
    texts = [seed.text for seed in seeds.located()] or _NOTHING_YET
    try:
        asked = vocabulary.keywords(service.provider, texts)
    except UserError as error:
        raise table.failed("seeds" if "seeds" in table.values else None, error) from None
    if asked is None or (is_named and not asked.is_filtered):
        return None
    host = structs.replace(service, base=asked.hosts.get(service.base, service.base))
    subscription = structs.replace(asked.stream, name=STREAM_NAME)
    return StreamPlan(subscription=subscription, service=service, host=host, is_tuned=asked.is_filtered)

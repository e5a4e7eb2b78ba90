"""How much an event may ask and hear: as the crawl file says, else as the networks of the crawl allow."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from bowerbird.event.probing import most_probes
from bowerbird.event.steering import Tuned, most_heard
from bowerbird.flows.keywords import KeywordUse
from bowerbird.model import Facet
from bowerbird.providers import provider

FREE, PAID = (provider(name).facets["search"] for name in ("mastodon", "x"))
USE = KeywordUse(methods=("baseline",), frame=timedelta(minutes=5))


@pytest.mark.parametrize(("said", "facet", "most"), [(None, FREE, 20), (None, PAID, 2), (7, PAID, 7), (0, FREE, 0)])
def test_probes_are_few_where_each_costs_money(said: int | None, facet: Facet, most: int) -> None:
    assert most_probes(structs.replace(USE, probes=said), [facet]) == most


def test_a_frame_brings_what_the_crawl_file_says_of_a_minute() -> None:
    nobody: list[Tuned] = []
    assert most_heard(USE, nobody) is None
    assert most_heard(structs.replace(USE, volume=30), nobody) == 150

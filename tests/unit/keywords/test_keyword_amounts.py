"""Probes and posts per frame: by the crawl file, else by the networks of the crawl."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from bowerbird.flows.keywords import KeywordUse
from bowerbird.keywords.probes import probes_per_frame
from bowerbird.keywords.steering import FilteredStream, posts_per_frame
from bowerbird.model import Facet
from bowerbird.providers import provider

FREE, PAID = (provider(name).facets["search"] for name in ("mastodon", "x"))
USE = KeywordUse(methods=("baseline",), frame=timedelta(minutes=5))


@pytest.mark.parametrize(("said", "facet", "most"), [(None, FREE, 20), (None, PAID, 2), (7, PAID, 7), (0, FREE, 0)])
def test_probes_per_frame_is_low_for_paid_searches(said: int | None, facet: Facet, most: int) -> None:
    assert probes_per_frame(structs.replace(USE, probes=said), [facet]) == most


def test_posts_per_frame_follows_volume_of_crawl_file() -> None:
    none: list[FilteredStream] = []
    assert posts_per_frame(USE, none) is None
    assert posts_per_frame(structs.replace(USE, volume=30), none) == 150

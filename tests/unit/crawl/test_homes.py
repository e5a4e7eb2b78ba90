"""Accounts are followed to their home server, where the crawl names it."""

from __future__ import annotations

from bowerbird.crawl.seeding.homes import Home, HomeServers
from bowerbird.model import Service

HERE = Service(name="here", provider="mastodon", base="https://here.example")
HOMES = HomeServers({"here.example": 1, "there.example": 2})


def test_an_account_of_another_named_server_is_looked_up_there_by_its_own_name() -> None:
    assert HOMES.away_from(HERE, "alice@there.example") == Home(2, "@alice")
    assert HOMES.away_from(HERE, "@alice@There.Example") == Home(2, "@alice")


def test_an_account_at_home_or_of_a_server_that_is_not_named_stays_where_it_was_seen() -> None:
    assert HOMES.away_from(HERE, "alice@here.example") is None
    assert HOMES.away_from(HERE, "alice@elsewhere.example") is None
    assert HOMES.away_from(HERE, "alice") is None
    assert HOMES.away_from(HERE, None) is None

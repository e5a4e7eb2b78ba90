"""Two simulated Mastodon servers over one world: each with ids of its own, and the other's accounts only in part."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
from feed_player import opened, play

from bowerbird.errors import UserError
from bowerbird.model import Request
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.mastodon import MastodonDialect
from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.tokens import IssuedTokens
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import REPLY, ms_of
from bowerbird.simulated.world.settings import to_ms
from failures import raises_code

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)
MS = to_ms(NOW)
SERVERS = ("one.example", "two.example")


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    def __init__(self, domain: str) -> None:
        tokens = IssuedTokens()
        self.headers = {"authorization": f"Bearer {tokens.issue('user').value}"}
        self.dialect = MastodonDialect(Vantage(world(), domain, SERVERS), Limiter(), tokens, scale=Scale(limits=100))

    def get(self, path: str, **query: str) -> Any:
        request = Request(path=f"/api/{path}", query=tuple(query.items()), headers=self.headers)
        return msgspec.json.decode(self.dialect.handle(request, NOW).body)

    def listed(self, path: str) -> list[Any]:
        """Every page of a list."""
        found: list[Any] = []
        query = {"limit": "80"}
        while True:
            request = Request(path=f"/api/v1/accounts/{path}", query=tuple(query.items()), headers=self.headers)
            reply = self.dialect.handle(request, NOW)
            found += msgspec.json.decode(reply.body)
            following = reply.headers.get("link", "").partition('>; rel="next"')[0].rpartition("max_id=")[2]
            if 'rel="next"' not in reply.headers.get("link", ""):
                return found
            query["max_id"] = following

    def account(self, account: int, rest: str = "") -> Any:
        return self.get(f"v1/accounts/{self.dialect.account_key(account)}{rest}")


@cache
def one() -> Server:
    return Server("one.example")


@cache
def two() -> Server:
    return Server("two.example")


@cache
def resident() -> int:
    """Somebody of the second server with many followers and an open network."""
    people, vantage = world().people, two().dialect.vantage
    shown = [n for n in range(900) if vantage.is_local(n) and world().is_open(n, MS) and not people.hides_network[n]]
    return max((n for n in shown if 100 < people.history[n] < 2_000), key=lambda n: world().graph.counts(n, MS)[0])


def test_both_servers_name_an_account_by_one_uri_and_by_different_ids() -> None:
    here, away = two().account(resident()), one().account(resident())
    assert here["uri"] == away["uri"]
    assert here["uri"].startswith("https://two.example/users/")
    assert here["id"] != away["id"]
    assert here["acct"] == here["username"]
    assert away["acct"] == f"{here['username']}@two.example"
    assert away["url"] == here["url"]


def test_a_foreign_server_lists_only_followers_of_its_own_but_counts_them_all() -> None:
    key = {server: server.dialect.account_key(resident()) for server in (one(), two())}
    here, away = two().listed(f"{key[two()]}/followers"), one().listed(f"{key[one()]}/followers")
    assert {account["uri"] for account in away} < {account["uri"] for account in here}
    assert away
    assert all("@" not in account["acct"] for account in away)
    assert one().account(resident())["followers_count"] == two().account(resident())["followers_count"] >= len(here)


def test_a_foreign_server_lists_only_those_followed_that_live_with_it() -> None:
    here, away = (server.listed(f"{server.dialect.account_key(resident())}/following") for server in (two(), one()))
    assert {account["uri"] for account in away} == {each["uri"] for each in here if each["acct"].endswith("@one.example")}


def test_a_foreign_server_has_most_posts_since_somebody_there_follows() -> None:
    here, away = (server.listed(f"{server.dialect.account_key(resident())}/statuses") for server in (two(), one()))
    ids = {status["uri"]: status["id"] for status in here}
    assert {status["uri"] for status in away} < set(ids)
    assert len(away) > len(here) / 2
    assert all(ids[status["uri"]] != status["id"] for status in away)


def test_a_foreign_server_has_nothing_written_before_somebody_there_followed() -> None:
    vantage, since = one().dialect.vantage, world().graph.since
    checked = 0
    for account in range(900):
        others, ranks = world().graph.all_followers(account)
        begun = since[ranks[vantage.local[others]]]
        if vantage.is_local(account) or not len(begun) or not world().is_open(account, MS):
            continue
        written = one().listed(f"{one().dialect.account_key(account)}/statuses")
        numbers = [one().dialect.ids.number(status["id"]) for status in written]
        assert all(number is not None and ms_of(number) >= begun.min() for number in numbers)
        checked += any(ms_of(number) < begun.min() for number in world().histories.numbers(account))
        if checked >= 5:
            return
    raise AssertionError("nobody had written before he was followed")


def test_a_post_not_held_is_unknown_and_an_answer_to_it_names_no_parent() -> None:
    vantage = one().dialect.vantage
    lost = 0
    for status in two().listed(f"{two().dialect.account_key(resident())}/statuses"):
        number = two().dialect.ids.number(status["id"])
        row = world().post(number, MS) if number else None
        assert row is not None
        answer = one().get(f"v1/statuses/{one().dialect.post_key(row.number)}")
        parent = world().post(row.target, MS) if row.kind == REPLY else None
        if vantage.holds(row):
            assert bool(answer["in_reply_to_id"]) == (parent is not None and vantage.holds(parent))
        else:
            lost += answer == {"error": "Not Found"}
    assert lost


def test_accounts_are_looked_up_with_their_domain_and_strangers_only_by_resolving() -> None:
    name = two().account(resident())["username"]
    assert one().get("v1/accounts/lookup", acct=f"{name}@two.example")["uri"] == two().account(resident())["uri"]
    assert one().get("v1/accounts/lookup", acct=name) == {"error": "Record not found"}
    assert two().get("v1/accounts/lookup", acct=name)["username"] == name
    stranger = next(n for n in range(900) if world().is_open(n, MS) and not one().dialect.vantage.knows(n, MS))
    handle = f"{two().account(stranger)['username']}@two.example"
    assert one().get("v1/accounts/lookup", acct=handle) == {"error": "Record not found"}
    assert one().get("v2/search", q=handle, type="accounts")["accounts"] == []
    assert [each["acct"] for each in one().get("v2/search", q=handle, type="accounts", resolve="true")["accounts"]] == [handle]


def test_local_and_remote_timelines_part_the_public_one() -> None:
    ids = {
        name: {status["id"] for status in one().get("v1/timelines/public", limit="40", **query)}
        for name, query in {"all": {}, "local": {"local": "true"}, "remote": {"remote": "true"}}.items()
    }
    assert ids["all"] <= ids["local"] | ids["remote"]
    assert not ids["local"] & ids["remote"]
    remote = one().get("v1/timelines/public", limit="40", remote="true")
    assert all(status["account"]["acct"].endswith("@two.example") for status in remote)


def test_local_and_remote_streams_part_the_public_one() -> None:
    def heard(path: str) -> set[bytes]:
        request = Request(path=f"/api/v1/streaming/public{path}", headers=one().headers)
        frames = play(opened(one().dialect.stream(request, NOW)), NOW, NOW + timedelta(hours=3))
        return {frame for _, frame in frames if not frame.startswith(b":")}

    assert heard("/local")
    assert heard("/remote")
    assert heard("") == heard("/local") | heard("/remote")
    assert not heard("/local") & heard("/remote")


def test_servers_know_each_other_as_peers_and_must_be_named() -> None:
    assert one().get("v1/instance/peers") == ["two.example"]
    with raises_code(UserError, "unknown_name") as caught:
        MastodonDialect(Vantage(world(), "three.example", SERVERS), Limiter(), IssuedTokens())
    assert all(server in caught.value.problem for server in ("three.example", *SERVERS))

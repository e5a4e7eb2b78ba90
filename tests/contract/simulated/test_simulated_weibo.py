"""The Weibo dialect against the tables of the API: eras, paging, limits on the hour and error codes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import pytest

from bowerbird.model import Request
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.weibo import WeiboDialect
from bowerbird.simulated.weibo.ids import Ids
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import POST, QUOTE
from bowerbird.simulated.world.settings import to_ms

NOW = datetime(2026, 1, 9, 12, 20, tzinfo=UTC)
ONE = datetime(2026, 1, 9, 13, tzinfo=UTC)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """An API of the test's own over a shared world; its user token belongs to the account with most followers."""

    def __init__(self, era: str = "classic") -> None:
        self.tokens = IssuedTokens()
        self.dialect = WeiboDialect(world(), Limiter(), self.tokens, era=era)
        self.user = self.tokens.issue("user", account=self.key(popular()))

    def get(self, path: str, token: Token | None = None, at: datetime = NOW, address: str = "192.0.2.1", **query: Any) -> Reply:
        pairs = tuple((key, str(value)) for key, value in query.items())
        headers = {"authorization": f"OAuth2 {(token or self.user).value}"}
        return self.dialect.handle(Request(path=f"/2/{path}.json", query=pairs, headers=headers), at, address)

    def key(self, account: int) -> str:
        return self.dialect.account_key(account)


@pytest.fixture
def server() -> Server:
    return Server()


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def code(reply: Reply) -> tuple[int, int]:
    return reply.status, body(reply)["error_code"]


def open_accounts() -> list[int]:
    return [each for each in range(900) if world().is_open(each, to_ms(NOW))]


@cache
def popular() -> int:
    return max(open_accounts(), key=lambda each: world().graph.counts(each, to_ms(NOW))[0])


@cache
def writer() -> int:
    people = world().people
    return max(open_accounts(), key=lambda each: min(float(people.rate[each]), 30) * (people.history[each] < 1_000))


def test_a_user_has_150_calls_until_the_hour_and_nothing_in_the_headers(server: Server) -> None:
    replies = [server.get("users/show", uid=server.key(popular())) for _ in range(151)]
    assert [reply.status for reply in replies] == [200] * 150 + [403]
    assert code(replies[-1]) == (403, 10023)
    assert not any("limit" in name for reply in replies for name in reply.headers)
    assert server.get("users/show", at=ONE - timedelta(seconds=1), uid=server.key(popular())).status == 403
    assert server.get("users/show", at=ONE, uid=server.key(popular())).status == 200


def test_an_address_has_10_000_calls_whoever_makes_them(server: Server) -> None:
    for _ in range(67):
        token = server.tokens.issue("user")
        replies = [server.get("account/get_uid", token)] + [server.get("tags", token, uid="x") for _ in range(150)]
    assert code(replies[-1]) == (403, 10022)
    assert code(server.get("tags", server.tokens.issue("user"), address="192.0.2.2", uid="x")) == (400, 20003)


def test_the_limits_can_be_asked_for_free_with_the_seconds_left(server: Server) -> None:
    server.get("users/show", uid=server.key(popular()))
    for _ in range(3):
        status = body(server.get("account/rate_limit_status"))
    assert (status["remaining_user_hits"], status["user_limit"]) == (149, 150)
    assert (status["remaining_ip_hits"], status["ip_limit"]) == (9_999, 10_000)
    assert (status["reset_time"], status["reset_time_in_seconds"]) == ("2026-01-09 21:00:00", 2_400)


def test_the_token_may_come_in_the_header_or_in_the_address(server: Server) -> None:
    path, query = "/2/users/show.json", (("uid", server.key(popular())),)
    named = (*query, ("access_token", server.user.value))
    assert server.dialect.handle(Request(path=path, query=named), NOW).status == 200
    assert code(server.dialect.handle(Request(path=path, query=query), NOW)) == (403, 10006)
    server.tokens.mark(server.user.value, "expired")
    assert code(server.get("users/show")) == (403, 21327)
    assert code(server.get("users/show", Token(value="wrong"))) == (403, 21332)


def test_errors_have_their_codes(server: Server) -> None:
    protected = next(each for each in range(900) if world().availability(each, to_ms(NOW)) == "protected")
    suspended = next(each for each in range(900) if world().availability(each, to_ms(NOW)) == "suspended")
    assert code(server.get("users/show", uid="7")) == (400, 20003)
    assert code(server.get("users/show", uid=server.key(suspended))) == (400, 20003)
    assert code(server.get("users/show")) == (400, 10016)
    assert code(server.get("users/show", uid="1", screen_name="x")) == (400, 10008)
    assert code(server.get("statuses/show", id="7")) == (400, 20101)
    assert code(server.get("statuses/user_timeline", uid=server.key(protected))) == (403, 20508)
    assert code(server.get("users/show_batch", uids=",".join(str(n) for n in range(51)))) == (400, 20009)
    assert code(server.get("users/show_batch", uids="1,2")) == (400, 20003)
    assert code(server.get("no/such")) == (404, 10020)
    assert body(server.get("no/such"))["request"] == "/2/no/such.json"


def test_cursors_are_offsets_and_end_at_zero(server: Server) -> None:
    found: list[int] = []
    cursor = 0
    while True:
        page = body(server.get("friendships/followers/ids", uid=server.key(popular()), count=50, cursor=cursor))
        found += page["ids"]
        assert page["next_cursor"] in (cursor + 50, 0)
        cursor = page["next_cursor"]
        if not cursor:
            break
    listed = world().graph.followers(popular(), to_ms(NOW))[0].tolist()
    is_there = {each for each in listed if world().availability(each, to_ms(NOW)) in ("open", "protected")}
    assert {str(key) for key in found} == {server.key(each) for each in is_there}
    assert len(body(server.get("friendships/followers", uid=server.key(popular()), count=5000))["users"]) <= 200


def test_max_id_is_inclusive_and_since_id_exclusive(server: Server) -> None:
    def ids(**query: Any) -> list[int]:
        return [each["id"] for each in body(server.get("statuses/user_timeline", uid=server.key(writer()), **query))["statuses"]]

    newest = ids(count=50)
    assert newest == sorted(newest, reverse=True)
    assert ids(max_id=newest[5], count=10)[:10] == newest[5:15]
    assert ids(since_id=newest[5], count=50)[:5] == newest[:5]
    assert ids(count=10, page=2)[0] == newest[10]
    assert len(ids(count=1000)) <= 100


@pytest.mark.parametrize("accounts", [900, 200_000])
def test_ids_carry_their_second_and_lead_back_to_the_post(accounts: int) -> None:
    class Many:
        def __len__(self) -> int:
            return accounts

    ids = Ids(Many())  # type: ignore[arg-type]
    for row in list(world().timeline(writer(), to_ms(NOW)))[:200]:
        key = ids.post(row.number)
        assert (key >> 22) + 515_483_463 == row.ms // 1000
        assert row.number in ids.numbers(str(key))
        assert row.number in ids.numbers(str(ids.comment(row.number)))


def test_a_deleted_original_keeps_its_id_and_loses_its_text(server: Server) -> None:
    now = to_ms(NOW)
    quotes = (row for each in open_accounts() for row in world().timeline(each, now) if row.kind == QUOTE)
    pairs = ((row, world().row(row.target, now)) for row in quotes)
    gone = next(row for row, root in pairs if root is not None and root.kind == POST and root.gone_at <= now)
    item = body(server.get("statuses/show", id=server.dialect.post_key(gone.number)))
    original = item["retweeted_status"]
    assert (original["deleted"], original["text"]) == ("1", "此微博已被原作者删除。")
    assert original["idstr"] == server.dialect.post_key(gone.target)
    batch = body(server.get("statuses/show_batch", ids=f"{item['idstr']},{original['idstr']}"))["statuses"]
    assert [(each["idstr"], each["user"] is None) for each in batch] == [(item["idstr"], False), (original["idstr"], True)]


def test_tags_are_keyed_by_tag_id(server: Server) -> None:
    tagged = [each for each in open_accounts()[:20] if body(server.get("tags", uid=server.key(each)))]
    first = body(server.get("tags", uid=server.key(tagged[0])))[0]
    assert first.pop("weight") == 50
    assert [key.isdecimal() for key in first] == [True]
    batch = body(server.get("tags/tags_batch", uids=",".join(server.key(each) for each in tagged[:3])))
    assert [str(each["id"]) for each in batch] == [server.key(each) for each in tagged[:3]]
    assert code(server.get("tags/tags_batch", uids=",".join(str(n) for n in range(21)))) == (400, 20009)


@pytest.mark.parametrize(("era", "ids", "posts"), [("classic", 5_000, 100), ("restricted", 500, 100), ("minimal", 5, 5)])
def test_an_era_bounds_lists_and_timelines(era: str, ids: int, posts: int) -> None:
    server = Server(era)
    followers = body(server.get("friendships/followers/ids", uid=server.key(popular()), count=5_000))
    total = followers["total_number"]
    assert total > 5
    most = {"classic": total, "restricted": min(500, int(total * 0.3)), "minimal": 5}[era]
    assert len(followers["ids"]) <= min(ids, most)
    own = body(server.get("statuses/user_timeline", uid=server.key(popular()), count=200))["statuses"]
    assert len(own) <= posts
    other = server.get("statuses/user_timeline", uid=server.key(writer()), count=200)
    assert other.status == 200 if era == "classic" else code(other) == (400, 20501)


def test_in_the_last_era_five_posts_are_all_there_is() -> None:
    server = Server("minimal")
    mine = server.tokens.issue("user", account=server.key(writer()))
    first = body(server.get("statuses/user_timeline", mine, uid=server.key(writer())))["statuses"]
    assert 0 < len(first) <= 5
    older = body(server.get("statuses/user_timeline", mine, uid=server.key(writer()), max_id=first[-1]["id"] - 1))["statuses"]
    assert len(first) + len(older) <= 5

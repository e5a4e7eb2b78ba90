"""Each flavour of the simulated Mastodon server shows the ways of its software: routes, refusals, ids, pages, people, streams."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
import msgspec
import pytest
from feed_player import opened, play

from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.model import Request
from bowerbird.simulated.mastodon.flavours import FLAVOURS
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.http import serve
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import Availability, World, WorldSettings
from bowerbird.simulated.world.posts.content import visibility
from bowerbird.simulated.world.posts.rows import REPOST
from bowerbird.simulated.world.settings import to_ms
from failures import raises_code

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)
MS = to_ms(NOW)
SERVERS = ("one.example", "two.example")
WITHOUT_URI = ("gotosocial", "takahe", "pleroma", "akkoma")


@cache
def world() -> World:
    return World(WorldSettings(accounts=300, seed=11))


@cache
def service(flavour: str) -> SimulatedService:
    setup = Setup(flavour=flavour, domain=SERVERS[0], servers=SERVERS, flavours={SERVERS[1]: "gotosocial"}, app_tokens=1)
    return simulate(setup, world())


def get(flavour: str, path: str, token: str | None = None, **query: str) -> Reply:
    """An answer that no limit stands in the way of: every call comes from an address of its own."""
    server = service(flavour)
    value = next(iter(server.tokens)).value if token is None else token
    headers = {"authorization": f"Bearer {value}"} if value else {}
    server.calls += 1
    return server.dialect.handle(Request(path=path, query=tuple(query.items()), headers=headers), NOW, f"192.0.2.{server.calls}")


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def listed(flavour: str, path: str) -> tuple[list[Any], list[int]]:
    """Everything a patient visitor gets who follows every `next`, and how much was on each page."""
    found, sizes, query = [], [], {"limit": "5"}
    while True:
        reply = get(flavour, path, **query)
        page = body(reply)
        found += page
        sizes.append(len(page))
        match = re.search(r'<[^>]*\?([^>]*)>; rel="next"', reply.headers.get("link", ""))
        if match is None:
            return found, sizes
        query = dict(parse_qsl(match[1]))


def writer(flavour: str) -> int:
    """Somebody at home on the server who wrote some posts, private ones among them."""
    vantage, seed = service(flavour).dialect.vantage, world().settings.seed  # type: ignore[attr-defined]
    for account in range(len(world())):
        if vantage.is_local(account) and world().is_open(account, MS):
            rows = list(world().timeline(account, MS))
            if 40 < len(rows) < 200 and sum(visibility(row.number, seed) == "private" for row in rows) > 2:
                return account
    raise AssertionError("nobody like that")


def path_of(flavour: str, account: int, rest: str = "") -> str:
    return f"/api/v1/accounts/{service(flavour).dialect.account_key(account)}{rest}"


def post_of(flavour: str) -> str:
    return str(body(get(flavour, path_of(flavour, writer(flavour), "/statuses")))[0]["id"])


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_server_says_what_it_is(flavour: str) -> None:
    kind = FLAVOURS[flavour]
    assert body(get(flavour, "/nodeinfo/2.0", ""))["software"] == {"name": kind.software, "version": kind.version}
    assert body(get(flavour, "/api/v1/instance", ""))["version"] == (kind.says_version or kind.version)
    newer = get(flavour, "/api/v2/instance", "")
    assert newer.status == (404 if flavour == "akkoma" else 200)
    assert ("timelines_access" in newer.body.decode()) == (flavour in ("mastodon", "mastodon-4.5"))


@pytest.mark.parametrize(
    ("flavour", "status", "words"),
    [
        ("mastodon-4.5", 200, b"["),
        ("mastodon-4.3", 200, b"["),
        ("mastodon-4.2", 404, b'{"error":"Not Found"}'),
        ("gotosocial", 405, b"405 method not allowed"),
        ("takahe", 404, b"<!DOCTYPE html>"),
        ("akkoma", 400, b'{"error":"Missing field: ids."'),
    ],
)
def test_batches_of_posts_are_offered_by_mastodon_since_4_3(flavour: str, status: int, words: bytes) -> None:
    reply = get(flavour, "/api/v1/statuses", **{"id[]": post_of(flavour)})
    assert reply.status == status
    assert reply.body.startswith(words)


@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if name not in ("mastodon", "mastodon-4.5")])
def test_quotes_are_a_missing_route_and_the_post_is_there(flavour: str) -> None:
    key = post_of(flavour)
    assert get(flavour, f"/api/v1/statuses/{key}/quotes").status == 404
    assert get(flavour, f"/api/v1/statuses/{key}").status == 200


def test_gotosocial_says_the_same_of_a_missing_route_and_of_a_missing_post() -> None:
    route, post = (
        get("gotosocial", f"/api/v1/statuses/{post_of('gotosocial')}/quotes"),
        get("gotosocial", "/api/v1/statuses/0" * 2),
    )
    assert (route.status, route.body) == (post.status, post.body) == (404, b'{"error":"Not Found"}')


@pytest.mark.parametrize(
    ("flavour", "status", "words"),
    [
        ("mastodon", 401, "The access token is invalid"),
        ("gotosocial", 401, "Unauthorized"),
        ("takahe", 400, "Invalid Bearer token"),
        ("pleroma", 403, "Invalid credentials."),
    ],
)
def test_a_wrong_token_is_refused_in_the_words_of_the_software(flavour: str, status: int, words: str) -> None:
    reply = get(flavour, "/api/v1/accounts/verify_credentials", "nobody-gave-this")
    assert reply.status == status
    assert words in reply.body.decode()


def test_pleroma_takes_who_has_a_wrong_token_for_a_guest() -> None:
    assert get("pleroma", path_of("pleroma", writer("pleroma")), "nobody-gave-this").status == 200


@pytest.mark.parametrize(("flavour", "status"), [("mastodon", 200), ("gotosocial", 401), ("takahe", 401), ("pleroma", 200)])
def test_some_servers_show_guests_nothing(flavour: str, status: int) -> None:
    assert get(flavour, path_of(flavour, writer(flavour)), "").status == status


@pytest.mark.parametrize(
    ("flavour", "form"), [("mastodon", r"\d{17,18}"), ("gotosocial", r"[0-9A-HJKMNP-TV-Z]{26}"), ("pleroma", r"[0-9A-Za-z]{18}")]
)
def test_ids_have_the_form_of_the_software_and_sort_by_time(flavour: str, form: str) -> None:
    posts, _ = listed(flavour, path_of(flavour, writer(flavour), "/statuses"))
    assert all(re.fullmatch(form, each) for post in posts for each in (post["id"], post["account"]["id"]))
    assert [post["id"] for post in posts] == sorted((post["id"] for post in posts), reverse=True)
    assert [post["created_at"] for post in posts] == sorted((post["created_at"] for post in posts), reverse=True)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_who_follows_every_next_gets_every_post_that_may_be_seen(flavour: str) -> None:
    account = writer(flavour)
    posts, sizes = listed(flavour, path_of(flavour, account, "/statuses"))
    truth = service(flavour).posts_to_find(service(flavour).dialect.account_key(account), NOW - timedelta(days=3000), NOW, NOW)
    living = {key for key, gone_at in truth.items() if gone_at is None or gone_at > NOW}
    boosts = {service(flavour).dialect.post_key(row.number) for row in world().timeline(account, MS) if row.kind == REPOST}
    assert {str(post["id"]) for post in posts} == living - (boosts if flavour == "takahe" else set())
    is_filtered = flavour == "gotosocial"
    assert any(size < 5 for size in sizes[:-2]) == is_filtered


def test_gotosocial_gives_empty_pages_with_a_next_one() -> None:
    account, seed = writer("gotosocial"), world().settings.seed
    hidden = next(row for row in world().timeline(account, MS) if visibility(row.number, seed) == "private")
    above = next(reversed([row for row in world().timeline(account, MS) if row.number > hidden.number]), None)
    position = {} if above is None else {"max_id": service("gotosocial").dialect.post_key(above.number)}
    reply = get("gotosocial", path_of("gotosocial", account, "/statuses"), limit="1", **position)
    assert reply.body == b"[]"
    assert 'rel="next"' in reply.headers["link"]


def test_gotosocial_ignores_since_id() -> None:
    path, newest = path_of("gotosocial", writer("gotosocial"), "/statuses"), post_of("gotosocial")
    assert len(body(get("gotosocial", path, since_id=newest))) > 5
    assert body(get("mastodon", path_of("mastodon", writer("mastodon"), "/statuses"), since_id=post_of("mastodon"))) == []


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_accounts_look_as_the_software_writes_them(flavour: str) -> None:
    account = writer(flavour)
    alone = body(get(flavour, path_of(flavour, account)))
    embedded = body(get(flavour, path_of(flavour, account, "/statuses")))[0]["account"]
    assert ("uri" in alone) == (flavour not in WITHOUT_URI)
    assert alone["statuses_count"] > 0
    assert (embedded["statuses_count"] == 0) == (flavour == "takahe")
    if flavour in ("pleroma", "akkoma"):
        assert alone["pleroma"]["ap_id"].startswith("https://one.example/users/")


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_server_names_what_comes_from_elsewhere_as_its_home_does(flavour: str) -> None:
    posts = body(get(flavour, "/api/v1/timelines/public", remote="true"))
    assert posts
    assert all(re.fullmatch(r"https://two\.example/users/\w+/statuses/[0-9A-Z]{26}", post["uri"]) for post in posts)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_lists_of_people_are_whole_whatever_their_order(flavour: str) -> None:
    people, vantage = world().people, service(flavour).dialect.vantage  # type: ignore[attr-defined]
    shown = [n for n in range(300) if vantage.is_local(n) and world().is_open(n, MS) and not people.hides_network[n]]
    account = max(shown, key=lambda n: world().graph.counts(n, MS)[0])
    found, _ = listed(flavour, path_of(flavour, account, "/followers"))
    others = world().graph.followers(account, MS)[0].tolist()
    away = {n for n in others if world().availability(n, MS) is Availability.SUSPENDED}
    assert {str(each["id"]) for each in found} == {service(flavour).dialect.account_key(n) for n in others if n not in away}


def test_an_unknown_hashtag_is_about_nothing() -> None:
    for flavour in FLAVOURS:
        reply = get(flavour, "/api/v1/timelines/tag/nobodyeverwrotethis")
        assert reply.status == 404 if flavour == "gotosocial" else reply.body == b"[]"


def test_suspended_accounts_are_not_found_on_takahe_and_pleroma() -> None:
    away = next(n for n in range(300) if world().availability(n, MS) is Availability.SUSPENDED)
    assert {name: get(name, path_of(name, away)).status for name in ("mastodon-4.3", "takahe", "pleroma")} == {
        "mastodon-4.3": 200,
        "takahe": 404,
        "pleroma": 404,
    }


def refused(flavour: str, path: str, **query: str) -> Reply | None:
    answer = service(flavour).dialect.stream(Request(path=path, query=tuple(query.items())), NOW, "")  # type: ignore[attr-defined]
    assert answer is None or isinstance(answer, Reply)
    return answer


def test_streams_are_refused_in_the_way_of_the_software() -> None:
    mastodon = refused("mastodon-4.5", "/api/v1/streaming", stream="public")
    assert mastodon is not None
    assert (mastodon.status, mastodon.body) == (401, b"")
    assert mastodon.headers["x-error-message"] == "Error: Missing access token"
    gotosocial = refused("gotosocial", "/api/v1/streaming", stream="public")
    assert gotosocial is not None
    assert gotosocial.body == b'{"error":"Unauthorized: token not supplied"}'
    assert refused("takahe", "/api/v1/streaming", stream="public") is None
    assert refused("gotosocial", "/api/v1/streaming/public") is None


def told(flavour: str, since: datetime, length: timedelta, **query: str) -> list[dict[str, Any]]:
    token = next(iter(service(flavour).tokens)).value
    headers = {"authorization": f"Bearer {token}"}
    request = Request(path="/api/v1/streaming", query=tuple(query.items()), headers=headers)
    feed = opened(service(flavour).dialect.stream(request, since, ""))  # type: ignore[attr-defined]
    return [msgspec.json.decode(frame) for _, frame in play(feed, since, since + length)]


def test_gotosocial_tells_edits_before_the_post_and_shows_it_then_as_it_was() -> None:
    begun: dict[str, list[dict[str, Any]]] = {}
    for event in told("gotosocial", NOW - timedelta(days=2), timedelta(days=1), stream="public"):
        if event["event"] != "delete":
            status = msgspec.json.decode(event["payload"])
            begun.setdefault(status["id"], []).append({**status, "event": event["event"]})
    twice = [events for events in begun.values() if len(events) == 2]
    assert twice
    assert all([each["event"] for each in events] == ["status.update", "update"] for events in twice)
    assert all(events[0]["edited_at"] and not events[1]["edited_at"] for events in twice)
    assert all(events[0]["content"] != events[1]["content"] for events in twice)


def test_gotosocial_lets_one_subscribe_to_a_hashtag_and_says_nothing() -> None:
    since = NOW - timedelta(days=1)
    tag = next(
        tag for post in body(get("mastodon", "/api/v1/timelines/public")) for tag in [each["name"] for each in post["tags"]]
    )
    assert told("mastodon", since, timedelta(days=1), stream="hashtag", tag=tag)
    assert told("gotosocial", since, timedelta(days=1), stream="hashtag", tag=tag) == []


def test_posts_from_elsewhere_come_late_and_are_listed_by_when_they_were_written() -> None:
    dialect = service("mastodon-4.5").dialect
    vantage = dialect.vantage  # type: ignore[attr-defined]
    rows = [row for n in range(300) if not vantage.is_local(n) for row in world().all_rows(n, MS - 86_400_000, MS - 3_600_000)]
    late = next(row for row in rows if vantage.delay(row) > 20_000 and vantage.holds(row, row.ms + vantage.delay(row)))
    assert not vantage.holds(late, late.ms + vantage.delay(late) - 1)
    assert all(service("mastodon").dialect.vantage.delay(row) == 0 for row in rows)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("flavour", "count", "words", "header"),
    [
        ("mastodon", 301, "Too many requests", "x-ratelimit-reset"),
        ("gotosocial", 97, "server capacity exceeded", "retry-after"),
        ("pleroma", 7, "Throttled", ""),
    ],
)
def test_limits_are_told_in_the_way_of_the_software(flavour: str, count: int, words: str, header: str) -> None:
    server = simulate(Setup(flavour=flavour), world())
    headers = {"authorization": f"Bearer {next(iter(server.tokens)).value}"}
    request = Request(path="/api/v1/timelines/tag/nothing", headers=headers)
    replies = [server.dialect.handle(request, NOW) for _ in range(count)]
    assert [reply.status for reply in replies].index(429) == count - 1
    assert words in replies[-1].body.decode()
    assert {name for name in replies[-1].headers if "limit" in name or "retry" in name} >= ({header} if header else set())
    assert header != "" or not any("limit" in name or "retry" in name for name in replies[-1].headers)


async def test_takahe_sends_a_body_where_only_headers_were_asked_for() -> None:
    async with serve(simulate(Setup(flavour="takahe"), world()), RealClock()) as base:
        host, port = base.removeprefix("http://").split(":")
        reader, sender = await asyncio.open_connection(host, int(port))
        sender.write(b"HEAD / HTTP/1.1\r\nHost: simulated\r\n\r\n")
        everything = await reader.read()
        sender.close()
        assert b"<!DOCTYPE html>" in everything.partition(b"\r\n\r\n")[2]
        async with aiohttp.ClientSession() as session, session.get(f"{base}/api/v1/instance") as answer:
            assert (await answer.json())["version"] == "takahe/0.11.0"


def test_an_unknown_flavour_names_those_there_are() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        simulate(Setup(flavour="friendica"), world())
    assert "friendica" in caught.value.problem
    assert all(flavour in caught.value.advice for flavour in FLAVOURS)


@pytest.mark.parametrize(
    ("dialect", "path", "query"),
    [
        ("twitter_v1", "/1.1/search/tweets.json", {"q": "#nobodyeverwrotethis"}),
        ("bluesky", "/xrpc/app.bsky.feed.searchPosts", {"q": "#nobodyeverwrotethis"}),
        ("x", "/2/tweets/search/recent", {"query": "#nobodyeverwrotethis"}),
        ("weibo", "/2/search/topics.json", {"q": "nobodyeverwrotethis"}),
    ],
)
def test_an_unknown_hashtag_is_about_nothing_in_any_dialect(dialect: str, path: str, query: dict[str, str]) -> None:
    server = simulate(Setup(dialect=dialect, app_tokens=1), world())
    token = next(token for token in server.tokens if token.kind == ("app" if dialect in ("x", "twitter_v1") else "user"))
    headers = {"authorization": f"{'OAuth2' if dialect == 'weibo' else 'Bearer'} {token.value}"}
    reply = server.dialect.handle(Request(path=path, query=tuple(query.items()), headers=headers), NOW)
    assert reply.status == 200
    assert not re.search(rb'"(id_str|uri|mid)":', reply.body)
    assert b'"data"' not in reply.body


def ask(server: SimulatedService, path: str, query: dict[str, str], at: datetime = NOW) -> Any:
    """What a server of any dialect answers to the owner of its first token."""
    scheme = "OAuth2" if server.dialect.name == "weibo" else "Bearer"
    headers = {"authorization": f"{scheme} {next(iter(server.tokens)).value}"}
    return body(server.dialect.handle(Request(path=path, query=tuple(query.items()), headers=headers), at))


def test_a_poll_stands_differently_later() -> None:
    server = simulate(Setup(), world())
    pages = [ask(server, "/api/v1/timelines/public", {"limit": "40"}, NOW - timedelta(hours=hours)) for hours in range(6)]
    asking = {each["id"]: each["poll"] for page in pages for each in page if each["poll"] and not each["poll"]["expired"]}
    assert asking
    for key, poll in asking.items():
        assert sum(each["votes_count"] for each in poll["options"]) == poll["votes_count"]
        later = ask(server, f"/api/v1/statuses/{key}", {}, NOW + timedelta(days=4)).get("poll")
        # Some posts are deleted meanwhile.
        assert later is None or (later["expired"] and later["votes_count"] > poll["votes_count"])


def test_a_server_may_write_its_ids_as_numbers() -> None:
    server = simulate(Setup(flavour="mastodon-numbers"), world())
    first = ask(server, "/api/v1/timelines/public", {"limit": "40"})[0]
    whose = first["account"]["id"]
    assert (type(first["id"]), type(whose)) == (int, int)
    assert ask(server, f"/api/v1/accounts/{whose}", {})["id"] == whose


def test_weibo_cuts_long_texts_unless_asked_for_them_whole() -> None:
    server = simulate(Setup(dialect="weibo"), world())
    path, every = "/2/statuses/public_timeline.json", {"count": "200"}
    cut = {each["id"]: each for each in ask(server, path, every)["statuses"] if each["isLongText"]}
    asked = ask(server, path, {**every, "isGetLongText": "1"})["statuses"]
    whole = {each["id"]: each for each in asked if each["isLongText"]}
    assert cut.keys() == whole.keys() != set()
    assert all("longText" not in each and each["text"].endswith("...") for each in cut.values())
    assert all(each["longText"]["longTextContent"].startswith(each["text"][:-3]) for each in whole.values())


def test_weibo_answers_a_search_without_results_with_an_empty_list() -> None:
    assert ask(simulate(Setup(dialect="weibo"), world()), "/2/search/topics.json", {"q": "nobodyeverwrotethis"}) == []

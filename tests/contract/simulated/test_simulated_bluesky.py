"""The Bluesky dialect against the tables of the API: paging, limits, headers, errors, sessions, exports and the lexicons."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from bowerbird.model import Answer, Ask, Outcome, PostKind, Progress, Request, Secret, Service
from bowerbird.providers import Bluesky
from bowerbird.simulated.bluesky import BlueskyDialect
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.tokens import IssuedTokens
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.rows import REPOST, author_of
from bowerbird.simulated.world.settings import NEVER, from_ms, to_ms

NOW = datetime(2026, 1, 9, 12, 3, 20, 19685, tzinfo=UTC)
LEXICONS = Path(__file__).parents[4] / "shared" / "data" / "bluesky-lexicons" / "lexicons"
SERVICE = Service(name="sim", provider="bluesky", base="https://simulated.example")


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """A server of the test's own over the shared world, with one user token."""

    def __init__(self) -> None:
        self.tokens = IssuedTokens()
        self.user = self.tokens.issue("user")
        self.dialect = BlueskyDialect(world(), Limiter(), self.tokens)

    def get(self, method: str, token: str = "", at: datetime = NOW, **query: Any) -> Reply:
        pairs = [(key, str(each)) for key, value in query.items() for each in (value if isinstance(value, list) else [value])]
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return self.dialect.handle(Request(path=f"/xrpc/{method}", query=tuple(pairs), headers=headers), at)

    def send(self, request: Request, at: datetime = NOW) -> Answer:
        reply = self.dialect.handle(request, at)
        return Answer(status=reply.status, headers=reply.headers, body=reply.body, sent_at=at, received_at=at)

    def did(self, account: int) -> str:
        return self.dialect.account_key(account)


@pytest.fixture
def server() -> Server:
    return Server()


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def accounts_that(are: Any) -> list[int]:
    return [int(account) for account in np.flatnonzero(are) if world().exists(int(account), to_ms(NOW))]


def popular() -> int:
    graph = world().graph
    shown = [each for each in accounts_that(world().people.rate > 0) if world().is_open(each, to_ms(NOW))]
    return max(shown, key=lambda each: graph.counts(each, to_ms(NOW))[0])


def busy() -> int:
    open_ones = [each for each in accounts_that(world().people.rate > 0) if world().is_open(each, to_ms(NOW))]
    return max(open_ones, key=lambda each: world().people.rate[each] * world().people.history[each])


def suspended(is_returning: bool) -> tuple[int, datetime]:
    """An account that was taken down or went by itself, and a time at which it is away."""
    people = world().people
    is_away = (people.suspended < people.left) & (people.returned > people.suspended) & (people.suspended >= world().warm_ms)
    account = int(np.flatnonzero(is_away & ((people.returned != NEVER) == is_returning))[0])
    return account, from_ms(int(people.suspended[account]))


def reposted_post() -> int:
    references = world().calendar.day(3).references
    for number in references.target[references.kind[references.start[:-1]] == REPOST].tolist():
        if world().post(number, to_ms(NOW)) is not None and world().is_open(author_of(number), to_ms(NOW)):
            return int(number)
    raise AssertionError("nobody reposted anything")


def test_every_answer_tells_the_limit_in_epoch_seconds(server: Server) -> None:
    for reply in (server.get("app.bsky.unspecced.getTrends"), server.get("app.bsky.actor.getProfile", actor="did:plc:nobody")):
        assert reply.headers["ratelimit-limit"] == "3000"
        assert reply.headers["ratelimit-policy"] == "3000;w=300"
        assert reply.headers["ratelimit-reset"] == str(int(NOW.timestamp()) + 300)
        assert "retry-after" not in reply.headers
    assert reply.headers["ratelimit-remaining"] == "2998"


def test_too_many_calls_are_refused_with_a_time_to_come_back(server: Server) -> None:
    statuses = [server.get("no.such.method").status for _ in range(3_000)]
    assert set(statuses) == {404}
    reply = server.get("app.bsky.unspecced.getTrends", at=NOW + timedelta(seconds=100))
    assert (reply.status, body(reply)) == (429, {"error": "RateLimitExceeded", "message": "Rate Limit Exceeded"})
    assert reply.headers["retry-after"] == "200"
    assert reply.headers["ratelimit-remaining"] == "0"
    assert server.get("com.atproto.sync.getRepo", did=server.did(busy())).headers["ratelimit-limit"] == "6000"
    assert server.get("app.bsky.unspecced.getTrends", at=NOW + timedelta(seconds=300)).status == 200


def test_unknown_and_hidden_accounts_are_bad_requests_with_a_name(server: Server) -> None:
    nobody = "did:plc:" + "z" * 24
    for method, name, message in (
        ("app.bsky.actor.getProfile", "actor", "Profile not found"),
        ("app.bsky.feed.getAuthorFeed", "actor", "Profile not found"),
        ("app.bsky.graph.getFollowers", "actor", f"Actor not found: {nobody}"),
        ("com.atproto.repo.listRecords", "repo", f"Could not find repo: {nobody}"),
    ):
        reply = server.get(method, **{name: nobody, "collection": "app.bsky.feed.post"})
        assert (reply.status, body(reply)) == (400, {"error": "InvalidRequest", "message": message})
    for is_returning, error in ((False, "AccountTakedown"), (True, "AccountDeactivated")):
        account, then = suspended(is_returning)
        reply = server.get("app.bsky.actor.getProfile", at=then, actor=server.did(account))
        assert (reply.status, body(reply)["error"]) == (400, error)
        assert server.get("app.bsky.graph.getFollows", at=then, actor=server.did(account)).status == 400
    gone = f"at://{server.did(busy())}/app.bsky.feed.post/3aaaaaaaaaa22"
    assert body(server.get("app.bsky.feed.getPostThread", uri=gone))["error"] == "NotFound"
    assert body(server.get("com.atproto.sync.getRepo", did=nobody))["error"] == "RepoNotFound"


def test_the_status_of_a_repository_says_why_it_is_closed(server: Server) -> None:
    asked = ((busy(), NOW), suspended(False), suspended(True))
    told = [body(server.get("com.atproto.sync.getRepoStatus", at=then, did=server.did(each))) for each, then in asked]
    assert [each.get("status") for each in told] == [None, "takendown", "deactivated"]
    account, then = suspended(False)
    assert body(server.get("com.atproto.sync.getRepo", at=then, did=server.did(account)))["error"] == "RepoTakendown"


def test_search_without_login_is_an_html_403(server: Server) -> None:
    reply = server.get("app.bsky.feed.searchPosts", q="football")
    assert (reply.status, reply.headers["content-type"]) == (403, "text/html")
    assert server.get("app.bsky.feed.searchPosts", server.user.value, q="#football").status == 200


@pytest.mark.parametrize(("state", "error"), [("expired", "ExpiredToken"), ("revoked", "InvalidToken")])
def test_bad_tokens_are_bad_requests(server: Server, state: str, error: str) -> None:
    server.tokens.mark(server.user.value, state)
    reply = server.get("app.bsky.unspecced.getTrends", server.user.value)
    assert (reply.status, body(reply)["error"]) == (400, error)


def test_batches_take_25_and_answer_what_they_know_in_their_own_order(server: Server) -> None:
    dids = [server.did(account) for account in range(26)]
    assert server.get("app.bsky.actor.getProfiles", actors=dids).status == 400
    assert server.get("app.bsky.feed.getPosts", uris=[f"at://{did}/app.bsky.feed.post/3k" for did in dids]).status == 400
    asked = [*dids[:10][::-1], dids[0], "did:plc:" + "z" * 24]
    found = [each["did"] for each in body(server.get("app.bsky.actor.getProfiles", actors=asked))["profiles"]]
    assert len(found) == len(set(found))
    assert set(found) <= set(asked)
    assert found != asked


def test_limits_above_the_maximum_are_refused_and_not_clipped(server: Server) -> None:
    assert server.get("app.bsky.graph.getFollowers", actor=server.did(popular()), limit=101).status == 400
    assert server.get("app.bsky.graph.getFollowers", actor=server.did(popular()), limit=0).status == 400
    assert len(body(server.get("app.bsky.graph.getFollowers", actor=server.did(popular())))["followers"]) == 50


def test_follow_lists_are_paged_by_opaque_cursors_to_their_end(server: Server) -> None:
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = body(server.get("app.bsky.graph.getFollowers", actor=server.did(popular()), limit=30, **cursor))
        found += [each["did"] for each in page["followers"]]
        if "cursor" not in page:
            break
        cursor = {"cursor": page["cursor"]}
    true = world().graph.followers(popular(), to_ms(NOW))[0].tolist()
    shown = {server.did(each) for each in true if world().availability(each, to_ms(NOW)) != "suspended"}
    assert len(found) == len(set(found))
    assert set(found) == shown


def test_stale_cursors_are_empty_lists_and_garbage_is_an_error(server: Server) -> None:
    actor = server.did(popular())
    stale = server.get("app.bsky.graph.getFollowers", actor=actor, cursor="1683654690921::bafyrei")
    assert (stale.status, body(stale)["followers"], "cursor" in body(stale)) == (200, [], False)
    assert server.get("app.bsky.graph.getFollowers", actor=actor, cursor="?!").status == 500
    assert server.get("app.bsky.feed.getAuthorFeed", actor=actor, cursor="yesterday").status == 400


def test_a_filtered_feed_has_short_and_empty_pages_with_a_cursor(server: Server) -> None:
    sizes, cursor = [], {}
    for _ in range(40):
        query = {"actor": server.did(busy()), "limit": 5, "filter": "posts_with_media"}
        page = body(server.get("app.bsky.feed.getAuthorFeed", **query, **cursor))
        if "cursor" not in page:
            break
        sizes.append(len(page["feed"]))
        cursor = {"cursor": page["cursor"]}
    assert 0 in sizes
    assert max(sizes) > 0


def test_a_raw_list_has_a_cursor_on_its_last_page_and_ends_empty(server: Server) -> None:
    query = {"repo": server.did(busy()), "collection": "app.bsky.graph.follow", "limit": 100}
    first = body(server.get("com.atproto.repo.listRecords", **query))
    assert first["cursor"] == first["records"][-1]["uri"].rpartition("/")[2]
    last = first
    while last["records"]:
        last = body(server.get("com.atproto.repo.listRecords", **query, cursor=last["cursor"]))
    assert "cursor" not in last


def test_handles_change_and_lead_to_the_same_account(server: Server) -> None:
    handle = server.dialect.handle_of(busy(), NOW)
    assert body(server.get("com.atproto.identity.resolveHandle", handle=handle))["did"] == server.did(busy())
    reply = server.get("com.atproto.identity.resolveHandle", handle="nobody.simulated.example")
    assert (reply.status, body(reply)["error"]) == (400, "HandleNotFound")


def test_ids_lead_back_to_the_worlds_numbers(server: Server) -> None:
    ids = server.dialect.ids
    for account in (0, 1, 899):
        assert ids.account(ids.did(account)) == account
    for row in list(world().timeline(busy(), to_ms(NOW)))[:50]:
        account, collection, rkey = ids.split(server.dialect.post_key(row.number)) or (-1, "", "")
        assert ids.number(account, rkey) == row.number
        assert collection == ("app.bsky.feed.repost" if row.kind == REPOST else "app.bsky.feed.post")


def test_a_provider_keeps_a_session_alive_through_expiry(server: Server) -> None:
    provider = Bluesky()
    secret = Secret(name="me", values={"identifier": server.user.account, "app_password": server.user.secret})
    wrong = Secret(name="me", values={"identifier": server.user.account, "app_password": "guess"})
    assert provider.session(wrong, server.send(provider.login(wrong))) is None
    opened = provider.session(secret, server.send(provider.login(secret)))
    assert opened is not None
    ask = Ask("search", ("#football",))
    assert provider.parse(ask, server.send(provider.sign(provider.request(ask), opened)), SERVICE).outcome is Outcome.OK
    later = NOW + timedelta(hours=3)
    expired = server.send(provider.sign(provider.request(ask), opened), later)
    assert expired.status == 400
    assert provider.parse(ask, expired, SERVICE).outcome is Outcome.BAD_TOKEN
    renewed = provider.session(opened, server.send(provider.refresh(opened), later))
    assert renewed is not None
    assert provider.parse(ask, server.send(provider.sign(provider.request(ask), renewed), later), SERVICE).outcome is Outcome.OK
    assert provider.session(opened, server.send(provider.refresh(opened), later)) is None


def test_logins_have_a_tight_limit_of_their_own(server: Server) -> None:
    login = Bluesky().login(Secret(name="me", values={"identifier": "user0", "app_password": "guess"}))
    statuses = [server.send(login).status for _ in range(31)]
    assert statuses == [401] * 30 + [429]


def test_an_export_holds_what_the_lists_hold(server: Server) -> None:
    provider, did = Bluesky(), server.did(busy())

    def read(facet: str, **progress: str) -> Any:
        ask = Ask(facet, (did,), Progress(**progress))
        return provider.parse(ask, server.send(provider.request(ask)), SERVICE)

    export = read("repo")
    assert (export.outcome, export.broken) == (Outcome.OK, ())
    rows = list(world().timeline(busy(), to_ms(NOW)))
    assert {post.id for post in export.posts} == {server.dialect.post_key(row.number) for row in rows}
    following = world().graph.following(busy(), to_ms(NOW))[0].tolist()
    assert {edge.target for edge in export.relations} == {server.did(account) for account in following}
    middle = rows[len(rows) // 2]
    newer = read("repo", newest=server.dialect.ids.rkey(middle.number))
    assert len(newer.posts) == len(rows) // 2
    assert newer.head == export.head
    raw = {post.id: post for post in read("records").posts}
    shown = {post.id: post for post in read("timeline").posts}
    both = raw.keys() & shown.keys()
    assert len(both) > 20
    for key in both:
        one, other = raw[key], shown[key]
        assert (one.text, one.tags, one.mentions, one.links) == (other.text, other.tags, other.mentions, other.links)
        assert (one.reply_to, one.root, one.quote_of, one.language) == (
            other.reply_to,
            other.root,
            other.quote_of,
            other.language,
        )
        assert [each.id for each in one.media] == [each.id for each in other.media]


def test_reposts_and_forged_times_are_seen_through_the_provider(server: Server) -> None:
    provider, posts = Bluesky(), []
    for account in accounts_that(world().people.rate > 0)[:40]:
        ask = Ask("timeline", (server.did(account),))
        posts += provider.parse(ask, server.send(provider.request(ask)), SERVICE).posts
    kinds = {post.kind for post in posts}
    assert kinds == {PostKind.POST, PostKind.REPLY, PostKind.REPOST, PostKind.QUOTE}
    recent = [post for post in posts if post.listed_at is not None and post.listed_at.year >= 2023]
    assert 0 < sum(post.is_time_doubtful for post in recent) < len(recent) / 50


@cache
def lexicon(nsid: str) -> dict[str, Any]:
    defs: dict[str, Any] = json.loads((LEXICONS / f"{nsid.replace('.', '/')}.json").read_text(encoding="utf-8"))["defs"]
    return defs


def problems(value: Any, schema: dict[str, Any], home: str, path: str = "") -> list[str]:
    """Where a value lacks what its lexicon requires."""
    match schema["type"]:
        case "ref":
            nsid, _, name = schema["ref"].partition("#")
            return problems(value, lexicon(nsid or home)[name or "main"], nsid or home, path)
        case "union":
            kind = value.get("$type", "") if isinstance(value, dict) else ""
            known = {ref if not ref.startswith("#") else home + ref for ref in schema["refs"]}
            if kind.removesuffix("#main") not in {ref.removesuffix("#main") for ref in known}:
                return [f"{path}: {kind!r} is not of {sorted(known)}"]
            return problems(value, {"type": "ref", "ref": kind}, home, path)
        case "array":
            return [each for nth, item in enumerate(value) for each in problems(item, schema["items"], home, f"{path}[{nth}]")]
        case "record":
            return problems(value, schema["record"], home, path)
        case "object":
            missing = [f"{path}: no {name}" for name in schema.get("required", ()) if name not in value]
            parts = [(name, value[name], part) for name, part in schema["properties"].items() if name in value]
            return missing + [each for name, item, part in parts for each in problems(item, part, home, f"{path}.{name}")]
        case "string" | "integer" | "boolean" as kind:
            return [] if isinstance(value, {"string": str, "integer": int, "boolean": bool}[kind]) else [f"{path}: not a {kind}"]
    return []


@pytest.mark.skipif(not LEXICONS.is_dir(), reason="the lexicons are not on this machine")
def test_answers_have_everything_the_lexicons_require(server: Server) -> None:
    did, post = server.did(busy()), server.dialect.post_key(reposted_post())
    owner = next(each for each in accounts_that(world().people.rate >= 0) if server.did(each) in server.dialect.actors.list_uri())
    for method, query in (
        ("app.bsky.actor.getProfile", {"actor": did}),
        ("app.bsky.actor.getProfiles", {"actors": [did, server.did(popular())]}),
        ("app.bsky.actor.searchActors", {"q": "an"}),
        ("app.bsky.graph.getFollowers", {"actor": did}),
        ("app.bsky.graph.getFollows", {"actor": did}),
        ("app.bsky.graph.getLists", {"actor": server.did(owner)}),
        ("app.bsky.graph.getList", {"list": server.dialect.actors.list_uri()}),
        ("app.bsky.feed.getAuthorFeed", {"actor": did, "limit": 100}),
        ("app.bsky.feed.getPosts", {"uris": [post]}),
        ("app.bsky.feed.getPostThread", {"uri": post}),
        ("app.bsky.feed.getRepostedBy", {"uri": post}),
        ("app.bsky.feed.getLikes", {"uri": post}),
        ("app.bsky.feed.getQuotes", {"uri": post}),
        ("app.bsky.feed.searchPosts", {"q": "#football", "limit": 100}),
        ("app.bsky.unspecced.getTrends", {}),
        ("com.atproto.identity.resolveHandle", {"handle": server.dialect.handle_of(busy(), NOW)}),
        ("com.atproto.repo.listRecords", {"repo": did, "collection": "app.bsky.feed.post"}),
        ("com.atproto.sync.getRepoStatus", {"did": did}),
        ("com.atproto.sync.listRepos", {}),
    ):
        reply = server.get(method, server.user.value, **query)
        assert reply.status == 200, method
        assert problems(body(reply), lexicon(method)["main"]["output"]["schema"], method) == [], method


@pytest.mark.skipif(not LEXICONS.is_dir(), reason="the lexicons are not on this machine")
@pytest.mark.parametrize(
    "collection", ["app.bsky.feed.post", "app.bsky.feed.repost", "app.bsky.graph.follow", "app.bsky.actor.profile"]
)
def test_records_are_as_their_lexicon_says(server: Server, collection: str) -> None:
    page = body(server.get("com.atproto.repo.listRecords", repo=server.did(busy()), collection=collection, limit=100))
    assert page["records"]
    for record in page["records"]:
        assert problems(record["value"], lexicon(collection)["main"], collection) == []

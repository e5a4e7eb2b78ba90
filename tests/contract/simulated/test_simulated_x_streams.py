"""The v2 dialect's streams against the tables of the API: rules, envelopes, order, keep-alive, limits of connecting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import msgspec
import pytest
from feed_player import opened, play

from bowerbird.model import Request, Wire
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.posts.crowd import Crowd
from bowerbird.simulated.world.posts.rows import REPOST, ms_of
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.x_v2 import Budget, Manner, XV2Dialect

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=6)
RULES = "/2/tweets/search/stream/rules"
FIELDS = (("tweet.fields", "created_at,lang,referenced_tweets"), ("expansions", "author_id,referenced_tweets.id"))


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """An API of the test's own over a shared world, with one user token and one app token."""

    def __init__(self, **options: Any) -> None:
        self.tokens = IssuedTokens()
        self.user, self.app = self.tokens.issue("user"), self.tokens.issue("app")
        self.dialect = XV2Dialect(world(), Limiter(), self.tokens, **options)

    def rules(self, change: Any = None, **query: str) -> Reply:
        headers = {"authorization": f"Bearer {self.app.value}", "content-type": "application/json"}
        method, body = ("GET", b"") if change is None else ("POST", msgspec.json.encode(change))
        request = Request(path=RULES, method=method, query=tuple(query.items()), headers=headers, body=body)
        return self.dialect.handle(request, NOW)

    def add(self, *values: str) -> list[Any]:
        answer = self.rules({"add": [{"value": value, "tag": f"tag of {value}"} for value in values]})
        assert answer.status == 201, answer.body
        rules: list[Any] = body(answer)["data"]
        return rules

    def ask(self, path: str = "search", at: datetime = NOW, token: Token | None = None, **query: str) -> Feed | Reply | None:
        headers = {"authorization": f"Bearer {(token or self.app).value}"}
        pairs = (*FIELDS, *query.items())
        return self.dialect.stream(Request(path=f"/2/tweets/{path}/stream", query=pairs, headers=headers), at)


@pytest.fixture
def server() -> Server:
    return Server()


def body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def refusal(answer: Feed | Reply | None) -> tuple[int, Any]:
    assert isinstance(answer, Reply)
    return answer.status, body(answer)


def posts(frames: list[tuple[datetime, bytes]]) -> list[Any]:
    assert all(frame.endswith(b"\r\n") and b"\n" not in frame[:-2] for _, frame in frames)
    return [msgspec.json.decode(frame) for _, frame in frames if frame != b"\r\n"]


def sent_for(rule: Any, heard: list[Any]) -> list[Any]:
    """What came because of one rule."""
    return [each for each in heard if {"id": rule["id"], "tag": rule["tag"]} in each["matching_rules"]]


@cache
def busiest_tag() -> str:
    return next(name for name, _ in Crowd(world()).trends(to_ms(LATER)))


def test_rules_are_created_listed_and_deleted(server: Server) -> None:
    first, second = server.add("music", f"#{busiest_tag()} lang:en")
    assert first["id"].isdigit()
    assert first["tag"] == "tag of music"
    listed = body(server.rules())
    assert listed["data"] == [first, second]
    assert listed["meta"]["result_count"] == 2
    assert body(server.rules(ids=second["id"]))["data"] == [second]
    answer = body(server.rules({"delete": {"ids": [first["id"], "12"]}}))
    assert answer["meta"]["summary"] == {"deleted": 1, "not_deleted": 1}
    assert "data" in body(server.rules())
    assert body(server.rules({"add": []}, delete_all="true"))["meta"]["summary"]["deleted"] == 1
    assert "data" not in body(server.rules())


def test_the_answer_to_new_rules_sums_up(server: Server) -> None:
    answer = server.rules({"add": [{"value": "music", "tag": "m"}]})
    assert answer.status == 201
    assert body(answer)["meta"]["summary"] == {"created": 1, "not_created": 0, "valid": 1, "invalid": 0}
    assert body(answer)["meta"]["sent"].endswith("Z")
    doubled = body(server.rules({"add": [{"value": "music"}, {"value": "coffee"}]}))
    assert doubled["meta"]["summary"] == {"created": 1, "not_created": 1, "valid": 1, "invalid": 1}
    assert (doubled["errors"][0]["title"], doubled["errors"][0]["id"]) == ("DuplicateRule", body(answer)["data"][0]["id"])


@pytest.mark.parametrize("value", ["", "(music", "x" * 1025, "lang:en", "-music", "nonsense:12", "is:retweet has:images"])
def test_a_rule_that_cannot_be_read_or_only_narrows_keeps_all_of_them_out(server: Server, value: str) -> None:
    answer = server.rules({"add": [{"value": "coffee"}, {"value": value}]})
    assert answer.status == 400
    assert body(answer)["errors"][0]["type"].endswith("/invalid-rules")
    assert body(answer)["meta"]["summary"]["created"] == 0
    assert "data" not in body(server.rules())


def test_a_dry_run_creates_nothing_and_a_thousand_rules_are_the_most(server: Server) -> None:
    assert body(server.rules({"add": [{"value": "music"}]}, dry_run="true"))["meta"]["summary"]["created"] == 1
    assert "data" not in body(server.rules())
    server.add(*(f"word{number}" for number in range(1_000)))
    answer = server.rules({"add": [{"value": "music"}]})
    assert (answer.status, body(answer)["type"].endswith("/rule-cap")) == (422, True)
    page = body(server.rules(max_results="600"))
    following = body(server.rules(max_results="600", pagination_token=page["meta"]["next_token"]))
    assert len(page["data"]) + len(following["data"]) == 1_000
    assert "next_token" not in following["meta"]


def test_rules_and_streams_are_for_apps_only(server: Server) -> None:
    status, problem = refusal(server.ask(token=server.user))
    assert (status, problem["title"]) == (403, "Unsupported Authentication")
    headers = {"authorization": f"Bearer {server.user.value}"}
    assert server.dialect.handle(Request(path=RULES, headers=headers), NOW).status == 403


def test_the_filtered_stream_sends_what_the_rules_select_and_says_which(server: Server) -> None:
    tag = busiest_tag()
    tagged, today = server.add(f"#{tag}", "today -is:retweet")
    feed = opened(server.ask())
    assert feed.wire is Wire.LINES
    assert feed.headers["x-rate-limit-limit"] == "50"
    heard = posts(play(feed, NOW, LATER))
    assert sent_for(tagged, heard)
    assert sent_for(today, heard)
    assert all("today" in each["data"]["text"].lower() for each in sent_for(today, heard))
    assert all(each in (*sent_for(tagged, heard), *sent_for(today, heard)) for each in heard)
    assert all(each["includes"]["users"] for each in heard)


def test_a_rule_also_finds_reposts_by_what_they_pass_on(server: Server) -> None:
    server.add("today")
    heard = posts(play(opened(server.ask()), NOW, LATER))
    reposts = [each for each in heard if each["data"].get("referenced_tweets", [{}])[0].get("type") == "retweeted"]
    assert reposts
    assert all("today" in each["includes"]["tweets"][0]["text"].lower() for each in reposts)


def test_nothing_that_search_finds_is_missing_from_the_stream(server: Server) -> None:
    server.add("today OR music")
    heard = {each["data"]["id"] for each in posts(play(opened(server.ask()), NOW, LATER + timedelta(seconds=10)))}
    headers = {"authorization": f"Bearer {server.app.value}"}
    asked = {"query": "today OR music", "max_results": "500", "start_time": f"{NOW:%FT%TZ}", "end_time": f"{LATER:%FT%TZ}"}
    request = Request(path="/2/tweets/search/all", query=tuple(asked.items()), headers=headers)
    found = body(server.dialect.handle(request, LATER))
    assert len(found["data"]) > 20
    assert {post["id"] for post in found["data"]} <= heard


def test_posts_come_within_seconds_a_little_out_of_order_and_some_twice() -> None:
    server = Server(manner=Manner(sample=1.0))
    frames = [(at, frame) for at, frame in play(opened(server.ask("sample")), NOW, NOW + timedelta(days=1)) if frame != b"\r\n"]
    numbers = [int(msgspec.json.decode(frame)["data"]["id"]) for _, frame in frames]
    delays = [to_ms(at) - ms_of(number) for (at, _), number in zip(frames, numbers, strict=True)]
    assert len(numbers) > 500
    assert numbers != sorted(numbers)
    assert min(delays) > 0
    assert max(delays) < 7_500
    assert len(set(numbers)) < len(numbers)


def test_the_sample_is_the_same_one_percent_for_everybody_and_names_no_rules() -> None:
    everybody = [posts(play(opened(Server(manner=Manner(sample=0.1)).ask("sample")), NOW, LATER)) for _ in range(2)]
    whole = posts(play(opened(Server(manner=Manner(sample=1.0)).ask("sample")), NOW, LATER))
    assert everybody[0] == everybody[1]
    assert 0 < len(everybody[0]) < len(whole) / 4
    assert all("matching_rules" not in each for each in whole)
    assert Manner().sample == 0.01


def test_an_empty_line_comes_every_twenty_seconds_of_silence(server: Server) -> None:
    server.add("nobodysaysthis")
    heard = play(opened(server.ask()), NOW, NOW + timedelta(minutes=1))
    assert heard == [(NOW + timedelta(seconds=20 * nth), b"\r\n") for nth in (1, 2, 3)]


def test_a_stream_without_rules_is_a_conflict(server: Server) -> None:
    status, problem = refusal(server.ask())
    assert (status, problem["title"], problem["connection_issue"]) == (409, "ConnectionException", "RuleConfigurationIssue")


def test_a_second_connection_is_refused_until_the_first_has_ended(server: Server) -> None:
    server.add("today")
    first = opened(server.ask())
    status, problem = refusal(server.ask())
    assert (status, problem["connection_issue"]) == (429, "TooManyConnections")
    assert problem["type"].endswith("/streaming-connection")
    first.end()
    opened(server.ask())


def test_fifty_connections_in_a_quarter_of_an_hour_are_the_most(server: Server) -> None:
    server.add("today")
    for _ in range(50):
        opened(server.ask()).end()
    status, problem = refusal(server.ask())
    assert (status, problem["title"]) == (429, "Too Many Requests")
    opened(server.ask(at=NOW + timedelta(minutes=15)))


def test_the_service_may_end_a_connection_for_operational_reasons() -> None:
    server = Server(manner=Manner(lasts=timedelta(minutes=10)))
    server.add("nobodysaysthis")
    heard = play(opened(server.ask()), NOW, LATER)
    at, frame = heard[-1]
    assert at == NOW + timedelta(minutes=10)
    assert msgspec.json.decode(frame)["errors"][0]["disconnect_type"] == "UpstreamOperationalDisconnect"


def test_backfill_repeats_the_last_minutes() -> None:
    server = Server(manner=Manner(sample=1.0))
    feed = opened(server.ask("sample"))
    heard = posts(play(feed, NOW, NOW + timedelta(minutes=30)))
    feed.end()
    at = NOW + timedelta(minutes=30, seconds=10)
    again = posts(play(opened(server.ask("sample", at, backfill_minutes="5")), at, at + timedelta(minutes=5)))
    repeated = {each["data"]["id"] for each in heard} & {each["data"]["id"] for each in again}
    assert repeated
    assert min(ms_of(int(key)) for key in repeated) > to_ms(at - timedelta(minutes=5, seconds=7))
    assert refusal(server.ask("sample", backfill_minutes="6"))[0] == 400


def test_rules_may_change_while_connected(server: Server) -> None:
    (today,) = server.add("today")
    feed = opened(server.ask())
    half = NOW + timedelta(hours=3)
    before = posts(play(feed, NOW, half))
    server.rules({"delete": {"ids": [today["id"]]}})
    (music,) = server.add("music")
    after = posts(play(feed, half, LATER))
    assert {rule["id"] for each in before for rule in each["matching_rules"]} == {today["id"]}
    assert {rule["id"] for each in after for rule in each["matching_rules"]} == {music["id"]}


def test_every_post_sent_counts_and_a_used_up_app_is_cut_off() -> None:
    server = Server(manner=Manner(sample=1.0), budget=Budget(posts=5))
    heard = posts(play(opened(server.ask("sample")), NOW, LATER))
    assert 5 <= len(heard) - 1 <= 10
    assert heard[-1]["errors"][0]["title"] == "operational-disconnect"
    status, problem = refusal(Server(manner=Manner(sample=1.0), budget=Budget(posts=0)).ask("sample"))
    assert (status, problem["title"]) == (429, "UsageCapExceeded")


def test_the_new_spelling_is_spoken_on_streams_too() -> None:
    server = Server(manner=Manner(sample=1.0), spelling="post")
    heard = posts(play(opened(server.ask("sample")), NOW, NOW + timedelta(hours=1)))
    assert all("edit_history_post_ids" in each["data"] for each in heard)


def test_operators_about_what_posts_carry_select_as_they_say(server: Server) -> None:
    town = world().contents.town(0)
    box = f"bounding_box:[{town.longitude - 90} {town.latitude - 60} {town.longitude + 90} {town.latitude + 60}]"
    pictures, near, author = server.add("today has:images", box, f"from:{writer()}")
    heard = posts(play(opened(server.ask()), NOW, NOW + timedelta(hours=24)))
    rows = [world().row(int(each["data"]["id"]), to_ms(LATER + timedelta(days=2))) for each in sent_for(pictures, heard)]
    assert rows
    assert all(row is not None and world().contents.of(row).pictures for row in rows)
    rows = [world().row(int(each["data"]["id"]), to_ms(LATER + timedelta(days=2))) for each in sent_for(near, heard)]
    assert rows
    assert all(row is not None and world().contents.of(row).place and row.kind != REPOST for row in rows)
    assert {each["includes"]["users"][0]["id"] for each in sent_for(author, heard)} == {writer()}


@cache
def writer() -> str:
    people, now = world().people, to_ms(NOW)
    best = max((each for each in range(900) if world().is_open(each, now)), key=lambda each: float(people.rate[each]))
    return Server().dialect.account_key(best)

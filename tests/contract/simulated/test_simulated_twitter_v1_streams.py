"""The v1.1 dialect's streams against the tables of the API: filters, notices, deletions, disconnections, 420."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from feed_player import opened, play

from bowerbird.model import Request, Wire
from bowerbird.simulated.feeds import Feed
from bowerbird.simulated.limiter import Limiter
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.twitter_v1 import Manner, TwitterV1Dialect
from bowerbird.simulated.wire import Reply
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import to_ms

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=6)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=11))


class Server:
    """An API of the test's own over a shared world, with two user tokens and one app token."""

    def __init__(self, **manner: Any) -> None:
        self.tokens = IssuedTokens()
        self.user, self.other, self.app = self.tokens.issue("user"), self.tokens.issue("user"), self.tokens.issue("app")
        self.dialect = TwitterV1Dialect(world(), Limiter(), self.tokens, manner=Manner(**manner))

    def filter(self, token: Token | None = None, at: datetime = NOW, **form: Any) -> Feed | Reply | None:
        headers = {**_oauth(token or self.user), "content-type": "application/x-www-form-urlencoded"}
        body = urlencode(form).encode()
        return self.dialect.stream(Request(path="/1.1/statuses/filter.json", method="POST", headers=headers, body=body), at)

    def sample(self, **query: str) -> Feed:
        request = Request(path="/1.1/statuses/sample.json", query=tuple(query.items()), headers=_oauth(self.user))
        return opened(self.dialect.stream(request, NOW))


def _oauth(token: Token) -> dict[str, str]:
    return {"authorization": f'OAuth oauth_consumer_key="{token.consumer_key}", oauth_token="{token.value}"'}


@pytest.fixture
def server() -> Server:
    return Server()


def messages(frames: list[tuple[datetime, bytes]]) -> list[Any]:
    assert all(frame.endswith(b"\r\n") and b"\n" not in frame[:-2] for _, frame in frames)
    return [msgspec.json.decode(frame) for _, frame in frames if frame != b"\r\n"]


def tweets(frames: list[tuple[datetime, bytes]]) -> list[Any]:
    return [each for each in messages(frames) if "text" in each]


def said(tweet: Any) -> str:
    text: str = tweet.get("retweeted_status", tweet)["text"]
    return text.lower()


def test_track_finds_all_words_of_a_phrase_and_any_phrase(server: Server) -> None:
    feed = opened(server.filter(track="rain,the people"))
    heard = tweets(play(feed, NOW, LATER))
    assert feed.wire is Wire.LINES
    assert any("rain" not in said(each) for each in heard)
    assert all("rain" in said(each) or {"the", "people"} <= set(said(each).split()) for each in heard)


def test_a_tracked_word_is_found_in_hashtags_and_a_tracked_hashtag_in_hashtags_only() -> None:
    words = tweets(play(opened(Server().filter(track="music")), NOW, LATER))
    tags = tweets(play(opened(Server().filter(track="#music")), NOW, LATER))
    assert {each["id_str"] for each in tags} < {each["id_str"] for each in words}
    assert all("#music" in said(each) for each in tags)
    assert any("#music" not in said(each) for each in words)


def test_follow_brings_what_they_write_and_what_answers_or_passes_it_on(server: Server) -> None:
    people, now = world().people, to_ms(NOW)
    best = max((each for each in range(900) if world().is_open(each, now)), key=lambda each: float(people.rate[each]))
    key = server.dialect.account_key(best)
    heard = tweets(play(opened(server.filter(follow=key)), NOW, LATER))
    own = [each for each in heard if each["user"]["id_str"] == key]
    about = [
        each
        for each in heard
        if each["in_reply_to_user_id_str"] == key or each.get("retweeted_status", {}).get("user", {}).get("id_str") == key
    ]
    assert own
    assert about
    assert len({each["id_str"] for each in (*own, *about)}) == len(heard)


def test_locations_bring_tweets_whose_point_or_place_lies_there(server: Server) -> None:
    heard = tweets(play(opened(server.filter(locations="-180,-90,180,90")), NOW, LATER))
    assert heard
    assert all(each["coordinates"] and each["place"] for each in heard)
    town = world().contents.town(0)
    box = f"{town.longitude - 1},{town.latitude - 1},{town.longitude + 1},{town.latitude + 1}"
    near = tweets(play(opened(Server().filter(locations=box)), NOW, NOW + timedelta(days=2)))
    assert near
    assert {each["place"]["name"] for each in near} == {town.name}


def test_matches_beyond_the_volume_are_only_counted() -> None:
    # The delay of the stream is the same for all: what is withheld is the excess of each minute.
    everything = tweets(play(opened(Server().filter(locations="-180,-90,180,90", track="the,que,rain")), NOW, LATER))
    some = messages(play(opened(Server(volume=1).filter(locations="-180,-90,180,90", track="the,que,rain")), NOW, LATER))
    notices = [each["limit"]["track"] for each in some if "limit" in each]
    assert notices
    assert notices == sorted(notices)
    assert len([each for each in some if "text" in each]) + notices[-1] == len(everything)


def test_deletions_come_for_what_was_sent_and_sometimes_before_it() -> None:
    heard = messages(play(Server(sample=1.0).sample(), NOW, NOW + timedelta(hours=30)))
    deleted = [each["delete"]["status"] for each in heard if "delete" in each]
    assert deleted
    assert all(each["user_id_str"] == str(each["user_id"]) and each["id_str"] == str(each["id"]) for each in deleted)
    order = [each["delete"]["status"]["id_str"] if "delete" in each else each["id_str"] for each in heard]
    kinds = ["delete" in each for each in heard]
    first = {key: kinds[order.index(key)] for key in order if order.count(key) == 2}
    assert set(first.values()) == {True, False}


def test_the_sample_is_the_same_for_everybody() -> None:
    one, two = (tweets(play(Server(sample=0.1).sample(), NOW, LATER)) for _ in range(2))
    assert one == two
    assert 0 < len(one) < 60


def test_an_empty_line_comes_every_half_minute_of_silence(server: Server) -> None:
    heard = play(opened(server.filter(track="nobodysaysthis")), NOW, NOW + timedelta(minutes=2))
    assert heard == [(NOW + timedelta(seconds=30 * nth), b"\r\n") for nth in (1, 2, 3, 4)]


def test_a_new_connection_with_the_same_credential_ends_the_old_one(server: Server) -> None:
    first, other = opened(server.filter(track="rain")), opened(server.filter(server.other, track="rain"))
    second = opened(server.filter(track="rain"))
    sent = first.due(NOW)
    assert msgspec.json.decode(sent.frames[-1])["disconnect"]["code"] == 7
    assert sent.close is not None
    assert second.due(NOW).close is None
    assert other.due(NOW).close is None


def test_a_revoked_token_is_disconnected_with_its_own_code(server: Server) -> None:
    feed = opened(server.filter(track="rain"))
    server.tokens.mark(server.user.value, "revoked")
    assert msgspec.json.decode(feed.due(NOW).frames[-1])["disconnect"]["code"] == 6


def test_a_slow_reader_is_warned_and_then_given_up() -> None:
    server = Server(sample=1.0, queue=30)
    feed = server.sample(stall_warnings="true")
    warned = messages([(NOW, frame) for frame in feed.due(NOW + timedelta(minutes=20)).frames])
    assert warned[0]["warning"]["code"] == "FALLING_BEHIND"
    assert 60 < warned[0]["warning"]["percent_full"] <= 100
    sent = feed.due(NOW + timedelta(hours=3))
    assert msgspec.json.decode(sent.frames[-1])["disconnect"]["code"] == 4
    assert sent.close is not None


def test_too_many_connections_are_answered_with_420(server: Server) -> None:
    for _ in range(15):
        opened(server.filter(track="rain"))
    answer = server.filter(track="rain")
    assert isinstance(answer, Reply)
    assert answer.status == 420
    assert b"Enhance Your Calm" in answer.body
    opened(server.filter(track="rain", at=NOW + timedelta(minutes=15)))


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({}, 406),
        ({"track": "x" * 61}, 406),
        ({"follow": "alice"}, 406),
        ({"locations": "1,2,3"}, 416),
        ({"locations": "10,2,3,4"}, 416),
        ({"track": ",".join(f"word{number}" for number in range(401))}, 413),
        ({"follow": ",".join(str(number) for number in range(5_001))}, 413),
    ],
)
def test_filters_that_cannot_be_served_are_refused(server: Server, form: dict[str, Any], status: int) -> None:
    answer = server.filter(**form)
    assert isinstance(answer, Reply)
    assert answer.status == status


def test_only_users_may_connect(server: Server) -> None:
    bearer = {"authorization": f"Bearer {server.app.value}"}
    answer = server.dialect.stream(Request(path="/1.1/statuses/sample.json", headers=bearer), NOW)
    assert isinstance(answer, Reply)
    assert answer.status == 403
    nobody = server.dialect.stream(Request(path="/1.1/statuses/sample.json"), NOW)
    assert isinstance(nobody, Reply)
    assert nobody.status == 400
    assert server.dialect.stream(Request(path="/1.1/search/tweets.json"), NOW) is None


def test_lengths_may_be_told_before_each_message() -> None:
    frames = [frame for _, frame in play(Server(sample=1.0).sample(delimited="length"), NOW, LATER) if frame != b"\r\n"]
    assert frames
    for frame in frames:
        length, _, rest = frame.partition(b"\r\n")
        assert int(length) == len(rest)

"""How each network's open connections come to hear something else. Pure."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bowerbird.model import EPOCH, Answer, Outcome, Page, Request, Retuned, Subscription
from bowerbird.providers import provider
from bowerbird.providers.base import Provider


def speaks(name: str) -> Provider:
    found = provider(name)
    assert isinstance(found, Provider)
    return found


def wanted(network: str, channel: str, **options: tuple[str, ...]) -> Subscription:
    return speaks(network).subscription(channel, options)


def answer(body: dict[str, Any], status: int = 200) -> Answer:
    return Answer(status=status, sent_at=EPOCH, received_at=EPOCH, body=json.dumps(body).encode())


def change(before: Subscription, after: Subscription, *answers: Answer, network: str = "x") -> Request | Retuned | Page | None:
    return speaks(network).retune(before, after, answers)


def sent(step: object) -> Any:
    assert isinstance(step, Request)
    return json.loads(step.body)


OURS = "bowerbird:filter"
ADDED, DELETED = answer({"data": [{"id": "9", "value": "dog", "tag": OURS}]}, 201), answer({"meta": {}})


def test_on_x_new_rules_come_before_old_ones_go_and_what_stays_is_not_touched() -> None:
    before, after = wanted("x", "filter", rules=("cat", "cow")), wanted("x", "filter", rules=("cat", "dog"))
    known = answer({"data": [{"id": "1", "value": "cat", "tag": OURS}, {"id": "2", "value": "cow", "tag": OURS}]})
    assert isinstance(change(before, after), Request)
    assert sent(change(before, after, known)) == {"add": [{"value": "dog", "tag": OURS}]}
    assert sent(change(before, after, known, ADDED)) == {"delete": {"ids": ["2"]}}
    assert change(before, after, known, ADDED, DELETED) == Retuned(rules=("1", "9"))


def test_on_x_the_same_rule_under_another_tag_is_deleted_first_because_it_cannot_be_there_twice() -> None:
    before, after = wanted("x", "filter", rules=("dog", "cow")), wanted("x", "filter", rules=("pets: dog",))
    known = answer({"data": [{"id": "1", "value": "dog", "tag": OURS}, {"id": "2", "value": "cow", "tag": OURS}]})
    assert sent(change(before, after, known)) == {"delete": {"ids": ["1"]}}
    assert sent(change(before, after, known, DELETED)) == {"add": [{"value": "dog", "tag": f"{OURS}:pets"}]}
    assert sent(change(before, after, known, DELETED, ADDED)) == {"delete": {"ids": ["2"]}}
    assert change(before, after, known, DELETED, ADDED, DELETED) == Retuned(rules=("9",))


def test_on_x_what_the_service_does_not_take_is_told() -> None:
    before, after = wanted("x", "filter", rules=("cat",)), wanted("x", "filter", rules=("from:",))
    refused = change(before, after, answer({"errors": [{"title": "Forbidden"}]}, 403))
    assert isinstance(refused, Page)
    assert refused.outcome is not Outcome.OK


_OTHERS = [("x", "sample"), ("twitter_v1", "sample"), ("mastodon", "public_events"), ("bluesky", "jetstream_v2")]


@pytest.mark.parametrize(
    ("network", "channel"),
    _OTHERS,
)
def test_where_nothing_can_be_said_to_an_open_connection_another_one_is_needed(network: str, channel: str) -> None:
    same = wanted(network, channel)
    assert change(same, same, network=network) is None


def test_on_a_websocket_of_mastodon_new_hashtags_come_before_old_ones_go() -> None:
    before, after = wanted("mastodon", "hashtag", tag=("cats", "cows")), wanted("mastodon", "hashtag", tag=("cats", "dogs"))
    changed = change(before, after, network="mastodon")
    assert isinstance(changed, Retuned)
    assert [json.loads(message) for message in changed.messages] == [
        {"type": "subscribe", "stream": "hashtag", "tag": "dogs"},
        {"type": "unsubscribe", "stream": "hashtag", "tag": "cows"},
    ]


def test_on_a_websocket_of_mastodon_a_whole_stream_changes_too() -> None:
    before, after = wanted("mastodon", "local"), wanted("mastodon", "local", only_media=("true",))
    changed = change(before, after, network="mastodon")
    assert isinstance(changed, Retuned)
    assert [json.loads(message)["stream"] for message in changed.messages] == ["public:local:media", "public:local"]


def test_jetstream_is_told_its_filters_anew_and_the_firehose_is_filtered_here() -> None:
    posts = ("app.bsky.feed.post",)
    changed = change(wanted("bluesky", "jetstream"), wanted("bluesky", "jetstream", collections=posts), network="bluesky")
    assert isinstance(changed, Retuned)
    (message,) = map(json.loads, changed.messages)
    assert (message["type"], message["payload"]["wantedCollections"]) == ("options_update", list(posts))
    heard = change(wanted("bluesky", "firehose"), wanted("bluesky", "firehose", collections=posts), network="bluesky")
    assert heard == Retuned()


def test_compression_is_decided_when_a_connection_is_opened() -> None:
    packed = wanted("bluesky", "jetstream", compress=("true",))
    assert change(wanted("bluesky", "jetstream"), packed, network="bluesky") is None

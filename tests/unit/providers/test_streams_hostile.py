"""Whatever a stream sends, only mapped items, notices or quarantined messages come out."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_payloads import answer, mastodon, status, tweet, twitter
from stream_payloads import event, frame, line, listening
from test_providers_hostile import check, disturbed, mutated
from x_payloads import PROBLEMS, missing, referring, x, x_post, x_user

from bowerbird.model import Answer, Heard, Opening, Outcome, Page, Request
from bowerbird.providers.base import Provider
from marks import examples

STATUSES: list[Any] = [
    status("100", reblog=status("50")),
    status("90", in_reply_to_id="100", quote={"quoted_status": status("7")}),
]
TWEETS: list[Any] = [
    tweet("100", retweeted_status=tweet("50")),
    tweet("90", quoted_status=tweet("7"), geo={"coordinates": [1, 2]}),
    {"limit": {"track": 1234}},
    {"delete": {"status": {"id": 100, "id_str": "100"}}},
    {"scrub_geo": {"user_id": 1, "up_to_status_id": 2}},
    {"status_withheld": {"id": 5, "withheld_in_countries": ["XX"]}},
    {"user_withheld": {"id": 5, "withheld_in_countries": ["DE"]}},
    {"disconnect": {"code": 4, "stream_name": "", "reason": ""}},
    {"warning": {"code": "FALLING_BEHIND", "message": "x", "percent_full": 60}},
]
POSTS: list[Any] = [
    {
        "data": x_post("100", **referring("quoted", "50")),
        "includes": {"users": [x_user()], "tweets": [x_post("50")]},
        "matching_rules": [{"id": "1", "tag": "cats"}],
        "errors": [missing("tweet", "51")],
    },
    {"data": x_post("90"), "includes": {"users": [x_user()]}, "matching_rules": [{"id": "2"}]},
    {
        "errors": [
            {"title": "operational-disconnect", "disconnect_type": "SlowReader", "type": PROBLEMS + "operational-disconnect"}
        ]
    },
    {"title": "ConnectionException", "connection_issue": "TooManyConnections", "type": PROBLEMS + "streaming-connection"},
]


def as_frame(message: Any, chance: random.Random) -> bytes:
    outer = json.loads(frame(chance.choice(("update", "status.update", "delete", "error")), message))
    return json.dumps(mutated(outer, chance) if chance.random() < 0.3 else outer).encode()


def as_event(message: Any, chance: random.Random) -> bytes:
    return event(chance.choice(("update", "status.update", "delete", "", "\x00")), message)


def as_line(message: Any, chance: random.Random) -> bytes:
    return line(message)


Written = Callable[[Any, random.Random], bytes]
CASES: list[tuple[Provider, str, list[Any], Written]] = [
    (mastodon, "public", STATUSES, as_frame),
    (mastodon, "public_events", STATUSES, as_event),
    (twitter, "sample", TWEETS, as_line),
    (x, "sample", POSTS, as_line),
]


def check_heard(heard: Heard, messages: int) -> None:
    """What every batch promises: storable pages, whole texts, and no more events than there were messages."""
    for page in heard.pages:
        check(page)
        assert all(gone.key and gone.key.isprintable() for gone in page.gone)
    assert 0 <= heard.events <= messages
    assert heard.newest_at is None or heard.newest_at.tzinfo is not None
    assert all(notice.detail.encode() or not notice.detail for notice in heard.notices)
    assert heard.closing is None or isinstance(heard.closing, Outcome)


@pytest.mark.parametrize(
    ("provider", "channel", "messages", "write"), CASES, ids=lambda each: each if isinstance(each, str) else ""
)
@settings(max_examples=examples(400), deadline=None)
@given(seed=st.integers(0, 2**63))
def test_mutated_messages_never_raise_and_always_keep_their_promises(
    provider: Provider, channel: str, messages: list[Any], write: Written, seed: int
) -> None:
    chance = random.Random(seed)
    batch = [disturbed(write(mutated(chance.choice(messages), chance), chance), chance) for _ in range(3)]
    batch.append(write(messages[0], chance))
    check_heard(listening(provider, channel, ours=["1"]).hear(batch), len(batch))


@pytest.mark.parametrize(("provider", "channel"), [(each[0], each[1]) for each in CASES], ids=lambda each: str(each)[:20])
@settings(max_examples=examples(200), deadline=None)
@given(messages=st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_are_heard(provider: Provider, channel: str, messages: list[bytes]) -> None:
    check_heard(listening(provider, channel).hear(messages), len(messages))


@pytest.mark.parametrize(("provider", "channel"), [(each[0], each[1]) for each in CASES], ids=lambda each: str(each)[:20])
@settings(max_examples=examples(200), deadline=None)
@given(code=st.integers(0, 700), body=st.binary(max_size=60), header=st.text(max_size=20))
def test_any_refusal_is_an_outcome(provider: Provider, channel: str, code: int, body: bytes, header: str) -> None:
    names = ("x_ratelimit_reset", "x_rate_limit_reset", "x_rate_limit_limit", "retry_after", "date", "location")
    page = provider.refused(provider.subscription(channel, {}), answer(body, code, **dict.fromkeys(names, header)))
    check(page)
    assert page.outcome is not Outcome.OK


@settings(max_examples=examples(300), deadline=None)
@given(seed=st.integers(0, 2**63))
def test_rules_are_settled_or_refused_whatever_the_service_answers(seed: int) -> None:
    chance = random.Random(seed)
    rules = [{"id": "1", "value": "cat", "tag": "bowerbird:filter"}, {"id": "2", "value": "cow"}, {"id": "3", "value": "dog"}]
    errors = [{"value": "cat", "id": "9", "title": "DuplicateRule", "type": PROBLEMS + "duplicate-rules"}]
    good = {"data": rules, "meta": {"next_token": "n"}, "errors": errors}
    subscription = x.subscription("filter", {"rules": ["cat", "dog", "emu"]})
    answers: list[Answer] = []
    step = x.open(subscription, None, answers)
    while isinstance(step, Request):
        assert len(answers) < 20
        answers.append(answer(disturbed(json.dumps(mutated(good, chance)).encode(), chance)))
        step = x.open(subscription, None, answers)
    assert isinstance(step, Opening) or (isinstance(step, Page) and step.outcome is not Outcome.OK)

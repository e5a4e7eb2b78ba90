"""Whatever a server sends, only mapped items, normalised outcomes or quarantined items come out."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hostile_pages import PROVIDERS, Case, cases, written
from hypothesis import given, settings
from hypothesis import strategies as st
from provider_payloads import NOON, answer, read

from bowerbird.model import Answer, Ask, Broken, Outcome, Page, Service
from bowerbird.providers.base import Provider
from marks import examples

JUNK = [None, True, -1, 0, 1.5, 10**30, "", "x", "\x00", "\ud800", "<p><a href='", "9" * 5000, [], {}, [[]], {"id": {}}, [None]]
EVERY_PROVIDER = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda each: each.name)
WRITTEN = [(provider, case) for provider in PROVIDERS for case in written(provider)]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document where something can be replaced."""
    inner: list[tuple[Any, ...]] = [path] if path else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        inner += places(each, (*path, key))
    return inner


def mutated(page: Any, chance: random.Random) -> Any:
    document = json.loads(json.dumps(page))
    for _ in range(chance.randint(1, 4)):
        chosen = places(document)
        if not chosen:
            return deepcopy(chance.choice(JUNK))
        *way, last = chance.choice(chosen)
        holder = document
        for step in way:
            holder = holder[step]
        if chance.random() < 0.2:
            del holder[last]
        else:
            holder[last] = deepcopy(chance.choice(JUNK))
    return document


def disturbed(body: bytes, chance: random.Random) -> bytes:
    """The body as a bad connection or a bad proxy would deliver it."""
    match chance.randint(0, 5):
        case 0:
            return body[: chance.randrange(len(body) + 1)]
        case 1:
            at = chance.randrange(len(body) + 1)
            return body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]
    return body


def spoilt(page: Any, chance: random.Random) -> bytes:
    """A body that differs from the good page: a draw that changed nothing is no mutation."""
    good = json.dumps(page).encode()
    body = good
    while body == good:
        body = disturbed(json.dumps(mutated(page, chance)).encode(), chance)
    return body


def texts(value: Any) -> list[str]:
    """Every text of a page, each of which must be storable."""
    if isinstance(value, str):
        assert value.encode() or not value
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for each in inner for text in texts(each)]


def check(page: Page) -> None:
    """What every page promises: it can be stored, quarantine keeps bytes, and only numbers that fit come out."""
    assert isinstance(page.outcome, Outcome)
    assert all(isinstance(broken, Broken) and isinstance(broken.raw, bytes) and broken.why for broken in page.broken)
    assert not any("\x00" in text for text in texts(msgspec.to_builtins(page)))
    for item in page.users:
        assert item.id
        assert item.key
        assert all(number is None or 0 <= number < 2**63 for number in (item.followers, item.following, item.posts))
    for post in page.posts:
        assert post.id
        assert post.key
        assert post.author
        assert post.created_at is None or post.created_at.tzinfo is not None


@pytest.mark.hypothesis
@pytest.mark.timeout(1200)  # for the nightly number of them, on a busy machine
@EVERY_PROVIDER
def test_mutated_pages_never_raise_and_always_keep_their_promises(provider: Provider, pytestconfig: pytest.Config) -> None:
    share = -(-examples(pytestconfig.getoption("mutations")) // len(PROVIDERS))
    of_provider = cases(provider)
    ran = 0

    @settings(max_examples=share, deadline=None)
    @given(seed=st.integers(0, 2**63))
    def try_one(seed: int) -> None:
        nonlocal ran
        chance = random.Random(seed)
        case = chance.choice(of_provider)
        known = {"newest": "60"} if chance.random() < 0.5 else {}
        check(read(provider, case.facet, case.targets, answer(spoilt(case.page, chance)), **known))
        ran += 1

    try_one()
    assert ran >= share, f"only {ran} of {share} mutations of {provider.name} were tried"


@EVERY_PROVIDER
@settings(max_examples=examples(100), deadline=None)
@given(
    code=st.integers(0, 700),
    body=st.binary(max_size=60)
    | st.sampled_from([b'{"errors":[{"code":"88"}]}', b'{"errors":7}', b'{"error":null}', b'{"errors":[]}']),
    header=st.text(max_size=20),
)
def test_any_status_body_and_header_is_an_outcome(provider: Provider, code: int, body: bytes, header: str) -> None:
    names = ("x_ratelimit_reset", "x_rate_limit_reset", "x_rate_limit_limit", "ratelimit_reset", "retry_after", "date", "link")
    check(read(provider, "timeline", "1", answer(body, code, **dict.fromkeys(names, header))))


@pytest.mark.parametrize(("provider", "case"), WRITTEN, ids=lambda each: each.facet if isinstance(each, Case) else each.name)
def test_a_page_cut_off_anywhere_is_unreadable(provider: Provider, case: Case) -> None:
    body = json.dumps(case.page).encode()
    for end in range(0, len(body) - 1, 97):
        found = read(provider, case.facet, "1", answer(body[:end]))
        assert found.outcome is Outcome.UNREADABLE
        assert found.gone == ()


@EVERY_PROVIDER
@pytest.mark.parametrize(("is_spoilt", "outcome"), [(True, Outcome.UNREADABLE), (False, Outcome.UNANSWERED)])
def test_an_answer_of_no_use_is_not_waited_for_as_long_as_none(provider: Provider, is_spoilt: bool, outcome: Outcome) -> None:
    service = Service(name="s", provider=provider.name, base="https://s.example")
    nothing = Answer(status=0, sent_at=NOON, received_at=NOON, failure="the body is larger than 9 bytes", is_spoilt=is_spoilt)
    for facet in provider.facets:
        page = provider.parse(Ask(facet, ("1",)), nothing, service)
        assert (page.outcome, page.detail, page.gone) == (outcome, nothing.failure, ())

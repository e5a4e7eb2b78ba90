"""Dictionaries hold the shape of payloads and nothing that anybody wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.clock import VIRTUAL_START
from bowerbird.model import Answer, Ask, Page, Progress, Request, Service
from bowerbird.providers import provider
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.world import WorldSettings
from bowerbird.store.payloads.shapes import CONSTANTS, SIZE, dictionary, shape
from marks import long

ACCOUNTS = 60


def pages(service: SimulatedService, name: str) -> Iterator[Page]:
    """Profiles and timelines as the service's dialect sends them."""
    speaks, asked = provider(name), Service(name="s", provider=name, base="https://s.example")
    headers = {"authorization": f"Bearer {next(iter(service.tokens)).value}"}
    for account in range(ACCOUNTS):
        for facet in ("timeline", "profiles"):
            ask = Ask(facet, (service.dialect.account_key(account),), Progress())
            request = speaks.request(ask)
            signed = Request(path=request.path, query=request.query, headers=headers)
            reply = service.receive(signed, VIRTUAL_START).reply
            told = Answer(
                status=reply.status, headers=reply.headers, body=reply.body, sent_at=VIRTUAL_START, received_at=VIRTUAL_START
            )
            yield speaks.parse(ask, told, asked)


def payloads(name: str) -> list[bytes]:
    world = WorldSettings(seed=5, accounts=400, longest_history=60)
    service = simulate(Setup(dialect=name, world=world, scale=Scale(limits=1e6), tokens=0, app_tokens=1))
    return [item.raw for page in pages(service, name) for item in (*page.users, *page.posts) if item.raw]


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(each)


@pytest.mark.parametrize("name", ["mastodon", "x", *long("bluesky", "twitter_v1")])
def test_no_text_of_any_payload_is_in_the_dictionary(name: str) -> None:
    raws = payloads(name)
    documents = [msgspec.json.decode(raw) for raw in raws]
    own = " ".join({key for document in documents for key in keys(document)} | CONSTANTS)
    written = {text for document in documents for text in texts(document) if len(text) > 4 and text not in own}
    body = dictionary([each for raw in raws if (each := shape(raw)) is not None]).decode()
    assert len(raws) > 100
    assert len(written) > 300
    assert [text for text in written if text in body] == []
    assert 200 < len(body) <= SIZE


def test_a_key_that_few_payloads_have_may_be_somebodys_own_words_and_is_left_out() -> None:
    plain = [shape(b'{"text":"how do you do","likes":12}') or b""] * 50
    odd = [shape(b'{"text":"x","i_am_ada_lovelace":1,"two words":2}') or b""]
    body = dictionary([*plain, *odd])
    assert b'"likes":0' in body
    assert b"ada" not in body
    assert b"two words" not in body


def test_the_same_payloads_give_the_same_dictionary_in_whatever_order_they_came() -> None:
    shapes = [shape(msgspec.json.encode({"id": n, f"n{n % 7}": "likes birds"})) or b"" for n in range(1_000)]
    assert dictionary(shapes) == dictionary(shapes[::-1])


def test_what_is_no_json_object_has_no_shape() -> None:
    assert [shape(raw) for raw in (b"", b"[1]", b"\xff\xfe", b'{"a":', b"[" * 5_000)] == [None] * 5


words = st.text(min_size=5)
documents = st.dictionaries(st.sampled_from(["id", "text", "user", "tags"]), st.one_of(words, st.lists(words), st.integers()))


@given(documents)
def test_nothing_but_constants_beginnings_and_endings_is_left_of_any_text(document: dict[str, Any]) -> None:
    masked = msgspec.json.decode(shape(msgspec.json.encode(document)) or b"{}")
    assert all(
        text not in masked.values() or text in CONSTANTS for text in texts(document) if text not in ("https://", "http://")
    )
    assert list(masked) == list(document)

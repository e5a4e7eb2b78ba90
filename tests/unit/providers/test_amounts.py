"""However much a server sends, only what was asked for becomes objects."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import libipld
import pytest
import zstandard
from bluesky_frames import POST, cbor, commit, committed, first, listener
from bluesky_payloads import ALICE, record
from hostile_pages import PROVIDERS, Case, written
from provider_payloads import account, answer, mastodon, read, status
from stream_payloads import listening

from bowerbird.model import Ask, Facet, Heard, Opening, Outcome, Page, Subject
from bowerbird.providers import Bluesky
from bowerbird.providers.base import Provider
from bowerbird.providers.bluesky.requests import LARGEST_REPO
from bowerbird.providers.bluesky.streams.compression import LARGEST_BATCH
from bowerbird.providers.bluesky.streams.jetstream import JetstreamListener
from bowerbird.providers.page import MAX_BYTES, MAX_QUARANTINED, OVERFULL, Quarantine, max_results
from bowerbird.simulated.bluesky.car import _archive, cid_of_block

T = TypeVar("T")

LISTS = [(provider, case) for provider in PROVIDERS for case in written(provider)]
EVERY_PAGE = pytest.mark.parametrize(("provider", "case"), LISTS, ids=[f"{p.name}-{c.facet}" for p, c in LISTS])
MB = 1024 * 1024


def peak(work: Callable[[], T]) -> tuple[T, int]:
    """What the work answers, and how many bytes of objects it had at once."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@cache
def _filled(item: bytes, count: int) -> bytes:
    return b"[" + b",".join([item] * count) + b"]"


def inflated(page: Any, item: bytes, count: int) -> bytes:
    """The page with its longest list replaced by so many of an item; the whole page where it has no list."""
    filled = _filled(item, count)
    if isinstance(page, list):
        return filled
    name = next((name for name, value in page.items() if isinstance(value, list)), None)
    if name is None:
        return filled
    others = {key: value for key, value in page.items() if key != name}
    return json.dumps(others).encode()[:-1] + (b"," if others else b"") + json.dumps(name).encode() + b":" + filled + b"}"


@EVERY_PAGE
@pytest.mark.parametrize("item", [b"0", b"{}"], ids=["numbers", "objects"])
def test_a_body_of_a_million_values_takes_no_memory(provider: Provider, case: Case, item: bytes) -> None:
    body = inflated(case.page, item, 1_600_000)
    page, size = peak(lambda: read(provider, case.facet, case.targets, answer(body)))
    assert page.outcome is Outcome.UNREADABLE
    assert size < 2 * MB


@EVERY_PAGE
def test_of_a_list_beyond_measure_only_a_sample_is_kept(provider: Provider, case: Case) -> None:
    asked = max_results(Ask(case.facet, case.targets), provider.facets[case.facet])
    page, size = peak(lambda: read(provider, case.facet, case.targets, answer(inflated(case.page, b"{}", 20_000))))
    assert len(page.broken) <= MAX_QUARANTINED + 1
    assert page.results <= asked
    assert page.outcome is Outcome.UNREADABLE or not page.broken
    assert size < 10 * MB


def test_what_was_left_out_is_said_and_ends_the_listing() -> None:
    facet = mastodon.facets["followers"]
    listed = [account(str(number)) for number in range(1, 2_000)]
    linked = answer(listed, link='<https://m.example/x?max_id=9>; rel="next"')
    page = read(mastodon, "followers", "7", linked)
    assert (page.cursor, page.is_whole) == (None, False)
    assert len(page.relations) == page.results == max_results(Ask("followers", ("7",)), facet)
    assert OVERFULL in page.detail


def test_a_page_within_reason_is_kept_whole() -> None:
    page = read(mastodon, "timeline", "1", answer([status(str(number)) for number in range(1, 101)]))
    assert (len(page.posts), page.results, page.is_whole) == (100, 100, True)


def test_of_many_broken_items_the_number_is_kept() -> None:
    aside = Quarantine()
    for _ in range(MAX_QUARANTINED + 50):
        aside.add(Subject.POST, b"x" * MB, "why")
    kept = aside.all()
    assert sum(len(each.raw) for each in kept) <= 4 * MB
    assert kept[-1].why.startswith("and ")
    assert len(aside) == MAX_QUARANTINED + 50


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda each: each.name)
def test_every_request_says_what_its_answer_may_weigh(provider: Provider) -> None:
    for name, facet in provider.facets.items():
        most = provider.request(Ask(name, (_target(facet),))).most
        assert MB < most <= (LARGEST_REPO if name == "repo" else MAX_BYTES), name


def _target(facet: Facet) -> str:
    return "word" if facet.subject is Subject.WORD else "1"


# -- repositories ------------------------------------------------------------------------------------------------


def _export(node: Any, *blocks: bytes) -> bytes:
    """A repository whose tree is this one node."""
    tree = libipld.encode_dag_cbor(node)
    head = libipld.encode_dag_cbor({"did": ALICE, "version": 3, "data": cid_of_block(tree), "rev": "3mmoojpaqkn2z", "prev": None})
    return _archive(cid_of_block(head), {cid_of_block(block): block for block in (head, tree, *blocks)})


def _repo(car: bytes) -> Page:
    return read(Bluesky(), "repo", ALICE, answer(car))


def test_paths_that_grow_with_every_entry_end_the_export() -> None:
    block = libipld.encode_dag_cbor({"text": "x"})
    entries = [{"p": 100 * number, "k": b"a" * 100, "v": cid_of_block(block), "t": None} for number in range(4_000)]
    page, size = peak(lambda: _repo(_export({"l": None, "e": entries}, block)))
    assert page.outcome is Outcome.UNREADABLE
    assert page.detail
    assert size < 40 * MB


def test_a_block_of_a_million_empty_values_loses_itself_alone() -> None:
    bomb = b"\xa1\x64text\x9a" + (1_900_000).to_bytes(4, "big") + b"\xa0" * 1_900_000
    good = libipld.encode_dag_cbor(record())
    rows = [
        {"p": 0, "k": f"{POST}/3mmoojp4cd223".encode(), "v": cid_of_block(bomb), "t": None},
        {"p": 0, "k": f"{POST}/3mmoojp4cd224".encode(), "v": cid_of_block(good), "t": None},
    ]
    page, size = peak(lambda: _repo(_export({"l": None, "e": rows}, bomb, good)))
    assert (page.outcome, len(page.posts), len(page.broken)) == (Outcome.OK, 1, 1)
    assert size < 20 * MB


@pytest.mark.parametrize("car", [b"", b"\xff" * 40, b"\x00", b"\x05\xa1", b"\xff\xff\xff\xff\x0f" + b"\xa0" * 9])
def test_what_is_no_archive_is_unreadable(car: bytes) -> None:
    assert _repo(car).outcome is Outcome.UNREADABLE


# -- streams -----------------------------------------------------------------------------------------------------


def test_a_frame_of_empty_values_takes_no_memory() -> None:
    bomb = cbor("#commit", {"seq": 1, "repo": ALICE}) + b"\x9a" + (8_000_000).to_bytes(4, "big") + b"\xa0" * 8_000_000
    inner = committed(ALICE, 2, "create", f"{POST}/x", b"\x9a" + (1_000_000).to_bytes(4, "big") + b"\xa0" * 1_000_000)
    heard, size = peak(lambda: listener("firehose").hear([bomb, cbor("#commit", inner)]))
    assert sum(len(page.broken) for page in heard.pages) == 2
    assert size < 30 * MB


def _packed(text: bytes, dictionary: zstandard.ZstdCompressionDict) -> bytes:
    return zstandard.ZstdCompressor(dict_data=dictionary, write_content_size=False).compress(text)


def test_packed_messages_that_unfold_beyond_measure_are_set_aside() -> None:
    samples = [first(commit("create", POST, record(text=str(number) * 9)), number) for number in range(1, 400)]
    dictionary = zstandard.train_dictionary(4096, samples)
    large = record(text="x" * 1_500_000)
    bombs = [_packed(first(commit("create", POST, large, rkey=f"3mmoojp4cd2{n:02}"), n), dictionary) for n in range(1, 100)]
    assert sum(map(len, bombs)) < MB
    ears = JetstreamListener(Opening(request=_NO_REQUEST, dictionary=dictionary.as_bytes()), None)
    heard, size = peak(lambda: ears.hear(bombs))
    assert sum(len(post.raw) for page in heard.pages for post in page.posts) <= LARGEST_BATCH
    assert sum(len(page.broken) for page in heard.pages) > 0
    assert size < 5 * LARGEST_BATCH


_NO_REQUEST = Bluesky().request(Ask("profile", (ALICE,)))


@pytest.mark.parametrize(("provider", "channel"), [("mastodon", "public"), ("twitter_v1", "filter"), ("x", "sample")])
def test_a_message_of_a_million_values_is_set_aside_alone(provider: str, channel: str) -> None:
    speaks = next(each for each in PROVIDERS if each.name == provider)
    ears = listening(speaks, channel, **({"track": ["x"]} if channel == "filter" else {}))  # type: ignore[arg-type]
    bomb = b'{"event":"update","data":[' + b"0," * 3_000_000 + b"0]}"
    heard, size = peak(lambda: ears.hear([bomb]))
    assert isinstance(heard, Heard)
    assert [len(page.broken) for page in heard.pages] == [1]
    assert size < 2 * MB


@pytest.mark.parametrize(
    ("provider", "facet", "body", "headers"),
    [
        ("mastodon", "followers", [], {"link": f'<https://m.example/x?max_id={"9" * 400}>; rel="next"'}),
        ("mastodon", "timeline", [status()], {"link": '<https://m.example/x?max_id=1%0d%0a2>; rel="next"'}),
        ("twitter_v1", "followers", {"ids": [1], "next_cursor_str": "9" * 400}, {}),
        ("weibo", "followers", {"ids": [1], "next_cursor": "javascript:x"}, {}),
        ("x", "followers", {"data": [], "meta": {"next_token": "9" * 400}}, {}),
        ("bluesky", "followers", {"followers": [], "cursor": "9" * 400}, {}),
    ],
)
def test_a_position_that_cannot_be_sent_back_does_not_pass_for_the_end(
    provider: str, facet: str, body: Any, headers: dict[str, str]
) -> None:
    speaks = next(each for each in PROVIDERS if each.name == provider)
    assert read(speaks, facet, "1", answer(body, **headers)).outcome is Outcome.UNREADABLE

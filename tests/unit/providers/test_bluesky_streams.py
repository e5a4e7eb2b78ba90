"""Subscribing to Bluesky's streams: what a person may ask, and how it is asked of the service."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard
from bluesky_frames import FOLLOW, POST, PROFILE, REPOST, commit, first, messages, second
from bluesky_payloads import ALICE, BOB, SERVICE, bluesky, record
from provider_payloads import answer

from bowerbird.errors import UserError
from bowerbird.model import Heard, NoticeKind, Opening, Outcome, Page, Request
from bowerbird.providers.base import Provider
from failures import raises_code

PAGE = Path(__file__).parents[3] / "docs" / "providers.md"
MAPPED = [POST, REPOST, FOLLOW, PROFILE]


def opening(channel: str, cursor: str | None = None, **options: Sequence[str]) -> Opening:
    step = bluesky.open(bluesky.subscription(channel, options), cursor, ())
    assert isinstance(step, Opening)
    return step


def asked(step: Opening, name: str) -> list[str]:
    return [value for key, value in step.request.query if key == name]


def dids(number: int) -> list[str]:
    return [f"did:plc:{each:024d}" for each in range(number)]


def dictionary(number: int = 77) -> bytes:
    samples: list[bytes | bytearray | memoryview] = [
        first(commit("create", POST, record(text=f"sample {each}")), each) * 2 for each in range(1, 300)
    ]
    return zstandard.train_dictionary(4096, samples, dict_id=number).as_bytes()


def test_bluesky_is_a_provider_with_streams() -> None:
    assert isinstance(bluesky, Provider)


@pytest.mark.parametrize("channel", bluesky.channels)
def test_every_channel_and_option_is_documented(channel: str) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Bluesky")[2].partition("\n## ")[0]
    for name in (channel, *bluesky.channels[channel].options):
        assert f"`{name}`" in section


def test_without_options_the_mapped_collections_are_asked_for() -> None:
    assert asked(opening("jetstream"), "wantedCollections") == MAPPED
    assert asked(opening("jetstream_v2"), "collections") == MAPPED
    assert opening("firehose").request == Request(path="/xrpc/com.atproto.sync.subscribeRepos")


def test_filters_go_into_the_address_under_each_wires_own_names() -> None:
    options = {"collections": ["app.bsky.feed.*"], "dids": [ALICE, BOB, ALICE], "max_message_size": ["5000"]}
    old, new = opening("jetstream", None, **options), opening("jetstream_v2", None, **options, kinds=["commit", "account"])
    assert old.request.path == "/subscribe"
    assert new.request.path == "/xrpc/network.bsky.jetstream.subscribeEvents"
    assert asked(old, "wantedCollections") == asked(new, "collections") == ["app.bsky.feed.*"]
    assert asked(old, "wantedDids") == asked(new, "dids") == [ALICE, BOB]
    assert asked(old, "maxMessageSizeBytes") == asked(new, "maxMessageSizeBytes") == ["5000"]
    assert asked(new, "kinds") == ["commit", "account"]


def test_more_accounts_than_an_address_holds_are_named_in_a_greeting() -> None:
    step = opening("jetstream", dids=dids(10_000), cursor=None)
    assert step.request.query == (("requireHello", "true"),)
    assert step.greetings[0].startswith(b'{"type":"options_update","payload":{"wantedCollections":["app.bsky.feed.post"')
    assert all(did.encode() in step.greetings[0] for did in dids(10_000)[::999])


def test_collections_are_not_asked_for_when_commits_are_not_wanted() -> None:
    assert asked(opening("jetstream_v2", kinds=["account"]), "collections") == []


@pytest.mark.parametrize(
    ("channel", "cursor", "start", "sent"),
    [
        ("jetstream", None, [], []),
        ("jetstream", None, ["now"], []),
        ("jetstream", "1779719009157119", ["oldest"], ["1779719009157119"]),
        ("jetstream", None, ["oldest"], ["1000000000000000"]),
        ("jetstream_v2", None, ["2026-05-25T14:23:29.157119Z"], ["1779719009157119"]),
        ("jetstream_v2", "12@1779719009157119", [], ["1779719009157119"]),
        ("jetstream_v2", "12", [], ["12"]),
        ("firehose", "12", [], ["12"]),
        ("firehose", None, ["oldest"], ["0"]),
        ("firehose", "rubbish", [], []),
    ],
)
def test_a_connection_starts_at_the_cursor_or_where_the_user_says(
    channel: str, cursor: str | None, start: list[str], sent: list[str]
) -> None:
    assert asked(opening(channel, cursor, start=start), "cursor") == sent


@pytest.mark.parametrize(
    ("channel", "options", "code", "named"),
    [
        ("jetstreem", {}, "unknown_name", "'jetstreem' jetstream_v2"),
        ("firehose", {"compress": ["true"]}, "unknown_name", "firehose 'compress' dids"),
        ("jetstream", {"wantedDids": [ALICE]}, "unknown_name", "jetstream 'wantedDids' dids"),
        ("jetstream", {"collections": ["posts"]}, "invalid", "jetstream 'posts' app.bsky.feed.post"),
        ("jetstream", {"collections": [f"app.bsky.feed.x{each}" for each in range(101)]}, "too_many", "collections 101 100"),
        ("jetstream", {"dids": ["alice.test"]}, "invalid", "'alice.test' did:plc:… `profile`"),
        ("jetstream", {"dids": dids(10_001)}, "too_many", "dids 10001 10000"),
        ("jetstream", {"max_message_size": ["-1"]}, "invalid", "max_message_size '-1'"),
        ("jetstream", {"compress": ["perhaps"]}, "invalid", "compress 'perhaps' true false"),
        ("jetstream", {"compress": ["true", "false"]}, "too_many", "compress 2"),
        ("jetstream", {"dictionary": ["bm8gZGljdGlvbmFyeQ=="]}, "invalid", "dictionary base64"),
        ("jetstream_v2", {"kinds": ["like"]}, "unknown_name", "'like' commit, identity, account, sync"),
        ("jetstream_v2", {"kinds": ["sync"], "collections": [POST]}, "conflicting_options", "collections kinds"),
        ("jetstream_v2", {"start": ["yesterday"]}, "invalid", "start 'yesterday' now oldest Z"),
        ("firehose", {"start": ["2026-05-25"]}, "invalid", "start '2026-05-25' now oldest"),
    ],
)
def test_what_a_service_would_refuse_is_refused_before(
    channel: str, options: dict[str, list[str]], code: str, named: str
) -> None:
    with raises_code(UserError, code) as caught:
        bluesky.subscription(channel, options)
    assert all(value in str(caught.value) for value in named.split())


def test_a_firehose_takes_any_number_of_accounts_because_it_is_filtered_here() -> None:
    assert len(bluesky.subscription("firehose", {"dids": dids(10_001)}).options["dids"]) == 10_001


@pytest.mark.parametrize("channel", ["jetstream", "jetstream_v2"])
def test_a_compressed_stream_fetches_its_dictionary_first_and_reads_with_it(channel: str) -> None:
    wanted = bluesky.subscription(channel, {"compress": ["true"]})
    fetch = bluesky.open(wanted, None, ())
    assert fetch == Request(path="/xrpc/network.bsky.jetstream.getZstdDictionary")
    step = bluesky.open(wanted, None, [answer(dictionary())])
    assert isinstance(step, Opening)
    assert asked(step, "compress") == (["true"] if channel == "jetstream" else [])
    assert asked(step, "zstdDictionary") == (["77"] if channel == "jetstream_v2" else [])
    said = compressed(channel, step, dictionary())
    assert [post.key for page in said.pages for post in page.posts] == [f"at://{ALICE}/{POST}/3mmoojp4cd223"]


def compressed(channel: str, step: Opening, packed_with: bytes) -> Heard:
    press = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(packed_with)).compress
    wanted = bluesky.subscription(channel, {"compress": ["true"]})
    sent = [press(each) for each in messages(channel, commit("create", POST, record()))]
    return bluesky.listener(wanted, step, SERVICE, None).hear(sent)


def test_a_dictionary_may_be_given_where_the_host_does_not_give_it_away() -> None:
    wanted = bluesky.subscription("jetstream", {"compress": ["true"], "dictionary": [b64encode(dictionary()).decode()]})
    step = bluesky.open(wanted, None, ())
    assert isinstance(step, Opening)
    assert step.dictionary == dictionary()


def test_messages_packed_with_another_dictionary_end_the_connection_with_advice() -> None:
    step = Opening(request=Request(path="/subscribe"), dictionary=dictionary())
    said = compressed("jetstream", step, dictionary(78))
    assert said.closing is Outcome.BAD_REQUEST
    assert {"77", "78"} <= set(re.findall(r"\d+", said.notices[0].detail))
    assert said.notices[0].kind is NoticeKind.CLOSING


def test_a_message_that_claims_to_be_huge_is_not_unpacked() -> None:
    step = Opening(request=Request(path="/subscribe"), dictionary=dictionary())
    press = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(dictionary())).compress
    wanted = bluesky.subscription("jetstream", {"compress": ["true"]})
    said = bluesky.listener(wanted, step, SERVICE, None).hear(
        [press(bytes(9_000_000)), press(second({"kind": "x", "body": {}}, 1))]
    )
    huge, unknown = said.pages[0].broken
    assert huge.why != unknown.why
    assert len(huge.raw) < 9_000_000
    assert said.closing is None


@pytest.mark.parametrize(
    ("body", "status", "outcome"),
    [
        (b'{"error":"DictionaryNotFound","message":"no dictionary"}', 404, Outcome.BAD_REQUEST),
        (b"<html>", 200, Outcome.UNREADABLE),
        (b"", 503, Outcome.OVERLOADED),
    ],
)
def test_without_a_dictionary_there_is_no_compressed_stream(body: bytes, status: int, outcome: Outcome) -> None:
    step = bluesky.open(bluesky.subscription("jetstream_v2", {"compress": ["true"]}), None, [answer(body, status)])
    assert isinstance(step, Page)
    assert step.outcome is outcome


@pytest.mark.parametrize(
    ("body", "status", "outcome"),
    [
        (b'{"error":"InvalidRequest","message":"unknown kind"}', 400, Outcome.BAD_REQUEST),
        (b'{"error":"UnknownZstdDictionary","message":"current id is 7"}', 400, Outcome.OVERLOADED),
        (b'{"error":"NotFound","message":"no such method"}', 404, Outcome.BAD_REQUEST),
        (b"invalid option", 400, Outcome.BAD_REQUEST),
        (b"", 429, Outcome.RATE_LIMITED),
        (b"<html>", 503, Outcome.OVERLOADED),
        (b"", 0, Outcome.UNANSWERED),
    ],
)
def test_an_answer_instead_of_a_stream_is_an_outcome(body: bytes, status: int, outcome: Outcome) -> None:
    page = bluesky.refused(bluesky.subscription("jetstream_v2", {}), answer(body, status, retry_after="7"))
    assert page.outcome is outcome
    assert page.retry_after is not None


def test_no_facet_fills_what_a_stream_with_a_cursor_missed() -> None:
    for name, channel in bluesky.channels.items():
        assert channel.has_cursor
        assert (channel.fills, bluesky.fill_targets(bluesky.subscription(name, {}))) == ("", ())

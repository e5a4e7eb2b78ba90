"""`[[streams]]` of a crawl file: what is allowed, and words for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.errors import FlowError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from failures import raises_code

WORDS = vocabulary()
HEAD = 'flow = "listen"\n[service]\nprovider = "{}"\nbase = "https://api.example"\n'


def parsed(text: str, provider: str = "bluesky") -> CrawlPlan:
    return parse_crawl(HEAD.format(provider) + text, Path("crawl.toml"), WORDS)


def test_a_stream_takes_its_channels_options_and_goes_to_its_own_host() -> None:
    plan = parsed(
        '[[streams]]\nchannel = "jetstream"\nbase = "wss://jet.example/"\ncollections = ["app.bsky.feed.post"]\ncompress = true\n'
    )
    stream = plan.streams[0]
    assert stream.subscription.name == "jetstream"
    assert stream.subscription.options == {"collections": ("app.bsky.feed.post",), "compress": ("true",)}
    assert (stream.host.base, stream.service.base) == ("https://jet.example", "https://api.example")
    assert stream.host.name == stream.service.name


def test_a_flow_that_listens_needs_no_seeds_but_a_stream() -> None:
    with raises_code(FlowError, "missing_value") as raised:
        parsed("")
    assert "[[streams]]" in raised.value.advice


def test_any_flow_may_listen_beside_what_it_asks() -> None:
    text = 'flow = "timelines"\nseeds = ["did:plc:z72i7hdynmk6r22z27h6tvur"]\n'
    text += '[service]\nprovider = "bluesky"\nbase = "https://a.example"\n[[streams]]\nchannel = "firehose"\n'
    plan = parse_crawl(text, Path("crawl.toml"), WORDS)
    assert [each.subscription.channel for each in plan.streams] == ["firehose"]


@pytest.mark.parametrize(
    ("text", "provider", "code", "line", "named"),
    [
        ('[[streams]]\nchannel = "jetsream"\n', "bluesky", "unknown_name", 6, "'jetsream' 'jetstream' firehose"),
        (
            '[[streams]]\nchannel = "jetstream"\ncolections = ["x.y.z"]\n',
            "bluesky",
            "unknown_key",
            7,
            "'colections' 'collections'",
        ),
        ('[[streams]]\nchannel = "hashtag"\n', "mastodon", "missing_value", 5, "'hashtag' tag"),
        ('[[streams]]\nchannel = "public"\nservice = "other"\n', "mastodon", "unknown_name", 7, "'other' api.example"),
        ('[[streams]]\nchannel = "public"\nbase = "ftp://x"\n', "mastodon", "invalid_address", 7, "'ftp://x'"),
        ('[[streams]]\nchannel = "public"\nbase = "wss://me:secret@x"\n', "mastodon", "insecure_address", 7, "base"),
        (
            '[[streams]]\nchannel = "public"\nbase = "wss://x.example/a"\n',
            "mastodon",
            "invalid_address",
            7,
            "'wss://x.example/a' \"wss://x.example\"",
        ),
        (
            '[[streams]]\nchannel = "public"\nbase = "wss://x.example?a=b"\n',
            "mastodon",
            "invalid_address",
            7,
            'a=b\' "wss://x.example"',
        ),
        ('[[streams]]\nchannel = "x"\n', "weibo", "unsupported", 5, "weibo [[streams]]"),
        ('[[streams]]\nchannel = "public"\n[[streams]]\nchannel = "public"\n', "mastodon", "already_exists", 7, "'public'"),
        ('[[streams]]\nchannel = "filter"\n', "x", "missing_value", 5, "'filter' rules"),
        ('[[streams]]\nchannel = "jetstream"\ncollections = ["no nsid"]\n', "bluesky", "invalid", 5, "nsid'"),
    ],
)
def test_what_a_network_would_refuse_is_named_before_anything_runs(
    text: str, provider: str, code: str, line: int, named: str
) -> None:
    with raises_code(FlowError, code) as caught:
        parsed(text, provider)
    assert (caught.value.file, caught.value.line) == ("crawl.toml", line)
    assert all(value in str(caught.value) for value in named.split())
    assert "secret@" not in str(caught.value)

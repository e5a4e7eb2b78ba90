"""`[[streams]]` of a crawl file: what is allowed, and words for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.errors import FlowError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl

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
    with pytest.raises(FlowError) as raised:
        parsed("")
    assert raised.value.code == "missing_value"
    assert "[[streams]]" in raised.value.advice


def test_any_flow_may_listen_beside_what_it_asks() -> None:
    text = 'flow = "timelines"\nseeds = ["did:plc:z72i7hdynmk6r22z27h6tvur"]\n'
    text += '[service]\nprovider = "bluesky"\nbase = "https://a.example"\n[[streams]]\nchannel = "firehose"\n'
    plan = parse_crawl(text, Path("crawl.toml"), WORDS)
    assert [each.subscription.channel for each in plan.streams] == ["firehose"]


@pytest.mark.parametrize(
    ("text", "provider", "words"),
    [
        ('[[streams]]\nchannel = "jetsream"\n', "bluesky", r"crawl.toml:6: bluesky has no channel 'jetsream'.*jetstream"),
        ('[[streams]]\nchannel = "jetstream"\ncolections = ["x.y.z"]\n', "bluesky", r"unknown key 'colections'.*collections"),
        ('[[streams]]\nchannel = "hashtag"\n', "mastodon", r"needs tag"),
        ('[[streams]]\nchannel = "public"\nservice = "other"\n', "mastodon", r"there is no service 'other'"),
        ('[[streams]]\nchannel = "public"\nbase = "ftp://x"\n', "mastodon", r"not an address of a stream"),
        ('[[streams]]\nchannel = "public"\nbase = "wss://me:secret@x"\n', "mastodon", r"must not contain a password"),
        ('[[streams]]\nchannel = "public"\nbase = "wss://x.example/a"\n', "mastodon", r'write base = "wss://x.example"'),
        ('[[streams]]\nchannel = "public"\nbase = "wss://x.example?a=b"\n', "mastodon", r'write base = "wss://x.example"'),
        ('[[streams]]\nchannel = "x"\n', "weibo", r"weibo has no streams"),
        ('[[streams]]\nchannel = "public"\n[[streams]]\nchannel = "public"\n', "mastodon", r"two streams are called 'public'"),
        ('[[streams]]\nchannel = "filter"\n', "x", r"needs rules"),
        ('[[streams]]\nchannel = "jetstream"\ncollections = ["no nsid"]\n', "bluesky", r"crawl.toml:5: .*no nsid"),
    ],
)
def test_what_a_network_would_refuse_is_named_before_anything_runs(text: str, provider: str, words: str) -> None:
    with pytest.raises(FlowError, match=words):
        parsed(text, provider)

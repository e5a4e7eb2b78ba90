"""`[keywords]` of a crawl file: what it means, the stream it adds, and mistakes with their lines."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.errors import FlowError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.flows.keywords import KeywordUse
from bowerbird.planning.prices import of_an_event
from failures import raises_code

WORDS = vocabulary()
BLUESKY = 'provider = "bluesky"\nbase = "https://public.api.bsky.app"'
SERVICES = {
    "bluesky": BLUESKY,
    "mastodon": 'provider = "mastodon"\nbase = "https://mastodon.example"',
    "x": 'provider = "x"\nbase = "https://api.x.com"',
    "twitter_v1": 'provider = "twitter_v1"\nbase = "https://api.twitter.com"',
    "weibo": 'provider = "weibo"\nbase = "https://api.weibo.com"',
}
SEEDS = '["#London2012", "olympics", "Opening  Ceremony", "@TeamGB"]'


def read(keywords: str = "", service: str = BLUESKY, seeds: str = SEEDS) -> CrawlPlan:
    text = f'flow = "event"\nseeds = {seeds}\n[service]\n{service}\n{keywords}'
    return parse_crawl(text, Path("event.toml"), WORDS)


def test_event_flow_defaults_to_burst_every_five_minutes() -> None:
    assert read().flow.keywords == KeywordUse(methods=("burst",), frame=timedelta(minutes=5))


def test_a_crawl_file_says_how_keywords_come_and_go() -> None:
    more = (
        'methods = ["rkwa", "skwa"]\nframe = "2m"\nmost = 50\nblacklist = ["#win"]\nprobes = 0\n[keywords.rkwa]\nthres1 = 0.6\n'
    )
    used = read(f"[keywords]\n{more}").flow.keywords
    assert used is not None
    assert (used.methods, used.options) == (("rkwa", "skwa"), {"rkwa": {"thres1": 0.6}})
    assert (used.frame, used.max_keywords, used.blacklist, used.probes) == (timedelta(minutes=2), 50, ("#win",), 0)


@pytest.mark.parametrize(
    ("network", "channel", "options", "is_tuned"),
    [
        ("bluesky", "jetstream", {"collections": ("app.bsky.feed.post",)}, False),
        ("mastodon", "public", {}, False),
        ("x", "filter", {"rules": ("#london2012", "olympics", '"opening ceremony"', "from:teamgb")}, True),
        ("twitter_v1", "filter", {"track": ("#london2012", "olympics", "opening ceremony", "@teamgb")}, True),
    ],
)
def test_each_network_hears_the_seeds_in_its_own_way(network: str, channel: str, options: dict[str, str], is_tuned: bool) -> None:
    (stream,) = read(service=SERVICES[network]).streams
    assert (stream.subscription.channel, stream.subscription.options, stream.is_tuned) == (channel, options, is_tuned)
    assert stream.subscription.name == "keywords"


def test_without_a_stream_keywords_are_searched_for() -> None:
    assert read(service=SERVICES["weibo"]).streams == ()
    assert read('[keywords]\nby = "search"\n').streams == ()


def test_a_stream_of_everything_that_the_file_names_is_taken_instead() -> None:
    (stream,) = read('[[streams]]\nchannel = "firehose"\nbase = "https://relay.example"\n').streams
    assert stream.subscription.channel == "firehose"
    both = read('[[streams]]\nchannel = "sample"\n', SERVICES["twitter_v1"]).streams
    assert [each.subscription.channel for each in both] == ["sample", "filter"]


@pytest.mark.parametrize(
    ("keywords", "line", "code", "named"),
    [
        ('methods = ["skva"]', 7, "unknown_name", "'skva' 'skwa' burst"),
        ('methods = ["skwa", "skwa"]', 7, "already_exists", "'skwa'"),
        ("methods = []", 7, "missing_value", "methods skwa"),
        ('frame = "2s"', 7, "invalid_file", 'frame "10s" "1d"'),
        ("slots = 2", 7, "invalid_file", "slots 3 60 2"),
        ("min_freqency = 2", 7, "unknown_key", "'min_freqency' 'min_frequency'"),
        ('by = "sream"', 7, "unknown_name", "'sream' 'stream'"),
        ("[keywords.rkwa]\nthreshold = 1", 8, "unknown_key", "'threshold' [keywords.rkwa] thres1"),
        ("[keywords.rkwa]\nthres1 = 0.5\nthres2 = 1.5", 9, "invalid_file", "thres2 -1 1.5"),
        ('[keywords.rkwa]\nreading = "verse"', 8, "invalid_file", "reading 'verse' prose pseudocode"),
        ("[keywords.rkwa]\nthres1 = true", 8, "invalid_file", "thres1 -1 true"),
    ],
)
def test_a_mistake_names_its_line(keywords: str, line: int, code: str, named: str) -> None:
    with raises_code(FlowError, code) as error:
        read(f"[keywords]\n{keywords}\n")
    assert error.value.problem.startswith(f"event.toml:{line}: ")
    assert all(value in str(error.value) for value in named.split())


def test_invalid_keyword_as_seed_raises() -> None:
    with raises_code(FlowError, "invalid") as caught:
        read(seeds='["#flood", "!!"]')
    assert "'!!'" in caught.value.problem


def test_keywords_belong_to_flows_that_adapt_them() -> None:
    text = f'flow = "topic"\nseeds = ["#flood"]\n[service]\n{BLUESKY}\n[keywords]\nframe = "5m"\n'
    with raises_code(FlowError, "unsupported") as caught:
        parse_crawl(text, Path("event.toml"), WORDS)
    assert "'topic'" in caught.value.problem
    assert 'flow = "event"' in caught.value.advice


def test_a_plan_of_an_event_says_what_a_post_of_its_stream_costs() -> None:
    assert "$0.005, a thousand $5.00" in of_an_event()

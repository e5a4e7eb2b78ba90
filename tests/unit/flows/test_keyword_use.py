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
    ("keywords", "line", "words"),
    [
        ('methods = ["skva"]', 7, "unknown method 'skva' (did you mean 'skwa'?)"),
        ('methods = ["skwa", "skwa"]', 7, "is there twice"),
        ("methods = []", 7, "methods names none"),
        ('frame = "2s"', 7, "between"),
        ("slots = 2", 7, "slots must be between 3 and 60, not 2"),
        ("min_freqency = 2", 7, "did you mean 'min_frequency'?"),
        ('by = "sream"', 7, "did you mean 'stream'?"),
        ("[keywords.rkwa]\nthreshold = 1", 8, "unknown key 'threshold' in [keywords.rkwa]"),
        ("[keywords.rkwa]\nthres1 = 0.5\nthres2 = 1.5", 9, "thres2 must be a number between -1 and 1, not 1.5"),
        ('[keywords.rkwa]\nreading = "verse"', 8, "reading must be one of prose, pseudocode, not 'verse'"),
        ("[keywords.rkwa]\nthres1 = true", 8, "thres1 must be a number between -1 and 1, not true"),
    ],
)
def test_a_mistake_names_its_line(keywords: str, line: int, words: str) -> None:
    with pytest.raises(FlowError) as error:
        read(f"[keywords]\n{keywords}\n")
    assert words in str(error.value)
    assert f"event.toml:{line}" in str(error.value)


def test_invalid_keyword_as_seed_raises() -> None:
    with pytest.raises(FlowError, match="Invalid keyword '!!'"):
        read(seeds='["#flood", "!!"]')


def test_keywords_belong_to_flows_that_adapt_them() -> None:
    text = f'flow = "topic"\nseeds = ["#flood"]\n[service]\n{BLUESKY}\n[keywords]\nframe = "5m"\n'
    with pytest.raises(FlowError, match='write flow = "event"'):
        parse_crawl(text, Path("event.toml"), WORDS)


def test_a_plan_of_an_event_says_what_a_post_of_its_stream_costs() -> None:
    assert "$0.005, a thousand $5.00" in of_an_event()

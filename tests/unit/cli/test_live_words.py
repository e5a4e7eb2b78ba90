"""How numbers, spans and the live picture of a crawl look."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs
from rich.console import Console

from bowerbird.cli.live.panel import panel
from bowerbird.cli.screens.amounts import numbers
from bowerbird.flows.flow import FacetUse, Flow, Size, Stop
from bowerbird.limits.bucket import new_bucket
from bowerbird.limits.budget import BudgetStatus
from bowerbird.model import Charge, Limit, WindowKind
from bowerbird.reports.status.glimpse import Bucket, Glimpse, Lane, as_values
from bowerbird.reports.status.limit_names import limit_words
from bowerbird.reports.status.time_left import Load, backlog_time, never_ends, time_to_stop

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
LIMIT = Limit(bucket="s/token", allowance=300, window=timedelta(minutes=5))

GLIMPSE = Glimpse(
    now=NOW,
    name="elections",
    flow="timelines",
    store="/data/a/rather/long/path/to/the/place/where/the/elections/of/this/year/are/kept/elections.db",
    state="running",
    elapsed=timedelta(minutes=3, seconds=7),
    whole=Size(calls=1_234, items=45_678, users=3_000, posts=42_000),
    run=Size(calls=34, items=678),
    calls_per_second=12.3,
    items_per_second=456.7,
    lanes=(Lane(facet="profiles", calls=4, items=160, waiting=0), Lane(facet="timeline", calls=30, items=518, waiting=2_000_000)),
    buckets=tuple(
        Bucket(name=f"mastodon.example/account:{n}/paging", remaining=n, allowance=12, resets_at=NOW + timedelta(minutes=4))
        for n in range(12)
    ),
    doing="calling",
    left="at least 3 h 10 min",
    trouble="timeline: overloaded 503 \x1b[31mService Unavailable",
    trouble_at=NOW - timedelta(seconds=30),
)


def shown(glimpse: Glimpse, *, width: int = 80, height: int = 24, encoding: str = "utf-8") -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", write_through=True)
    console = Console(file=file, width=width, height=height, force_terminal=False, highlight=False)
    console.print(panel(glimpse, console))
    file.seek(0)
    return file.read().splitlines()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0.0 s"),
        (0.4, "0.4 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7_800, "2 h 10 min"),
        (442_800, "5 d 3 h"),
    ],
)
def test_a_span_takes_two_units_at_most(seconds: float, text: str) -> None:
    assert numbers.span(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(("rate", "text"), [(0, "0.0/s"), (1234, "1,234/s"), (2.5, "2.5/s"), (0.1, "6.0/min"), (0.001, "3.6/h")])
def test_a_slow_rate_is_told_per_minute_or_hour(rate: float, text: str) -> None:
    assert numbers.rate(rate) == text


def test_a_share_is_100_only_when_nothing_is_missing() -> None:
    assert [numbers.share(9_999_999, 10_000_000), numbers.share(10, 10), numbers.share(0, 0)] == ["99.9 %", "100 %", "none"]


def test_sizes_and_counts_read_well() -> None:
    assert [numbers.size(900), numbers.size(40_200_000), numbers.many(1, "call"), numbers.many(2_000, "call")] == [
        "900 B",
        "38.3 MB",
        "1 call",
        "2,000 calls",
    ]


def test_the_panel_fits_a_small_terminal() -> None:
    lines = shown(GLIMPSE)
    assert len(lines) <= 23
    assert [line for line in lines if len(line) > 80] == []


def test_the_panel_shows_the_tightest_buckets_and_counts_the_rest() -> None:
    text = "\n".join(shown(GLIMPSE, width=120, height=40))
    assert text.count("paged calls of account") == 8
    assert "+ 4 " in text
    assert "0 / 12" in text


def test_no_figure_is_cut_off_where_names_are_long_and_numbers_large() -> None:
    """Limits of X: millions of posts, and the part of a name that tells them apart at its end."""
    names = [f"api.x.example/app:{'my-very-long-application' * 2}/{facet}" for facet in ("profile", "profiles", "posts")]
    large = [
        Bucket(name=name, remaining=2_999_447, allowance=3_000_000, resets_at=NOW + timedelta(days=14, hours=6)) for name in names
    ]
    lines = shown(structs.replace(GLIMPSE, buckets=tuple(large)), width=80)
    assert sum("2,999,447 / 3,000,000" in line and line.rstrip().endswith("14 d 6 h") for line in lines) == 3
    assert [line for line in lines if "resets in" in line]
    assert [line.split(" of app ")[0] for line in lines if " of app " in line] == ["profile", "profiles", "posts"]
    assert max(map(len, lines)) <= 80


def test_limits_are_called_what_they_count_and_whose_they_are() -> None:
    names = ["sim/address", "sim/mine/token", "sim/account:me/paging", "sim/app:a/daily", "sim/v1/timeline", "sim/connections"]
    assert list(limit_words(names).values()) == [
        "calls from this address",
        "calls with mine",
        "paged calls of account me",
        "calls a day of app a",
        "timeline with v1",
        "connections",
    ]
    assert limit_words(["a/address", "b/address"])["b/address"] == "calls from this address at b"


def test_the_panel_says_what_went_wrong_and_when_without_obeying_it() -> None:
    text = "\n".join(shown(GLIMPSE))
    assert any(all(value in line for value in ("30 s", "timeline", "overloaded", "503")) for line in text.splitlines())
    assert "\x1b" not in text


def test_bars_are_plain_where_the_terminal_knows_no_blocks() -> None:
    glimpse = structs.replace(GLIMPSE, store="x.db", buckets=GLIMPSE.buckets[6:7])
    text = "\n".join(shown(glimpse, encoding="ascii"))
    assert "########........" in text


def test_a_glimpse_for_machines_carries_quota_and_rates() -> None:
    values = as_values(GLIMPSE)
    assert values["posts"] == 42_000
    assert values["relations"] == 678
    assert values["facets"]["timeline"]["waiting"] == 2_000_000
    assert len(values["buckets"]) == 12


def test_a_backlog_takes_the_windows_it_needs() -> None:
    charge = Charge("s/token", 1, LIMIT)
    state = new_bucket("s/token", LIMIT, NOW + timedelta(minutes=2, seconds=30))
    now = NOW + timedelta(minutes=2, seconds=30)
    time = backlog_time([Load(900, [[charge]])], {"s/token": state}, now)
    assert timedelta(minutes=12) < time < timedelta(minutes=13)
    assert backlog_time([Load(900, [[charge], [Charge("s/other", 1, LIMIT)]])], {}, now) < time
    assert backlog_time([], {}, now) == timedelta(0)


def test_a_bucket_never_used_counts_as_full() -> None:
    limit = Limit(bucket="s/x", allowance=15, window=timedelta(minutes=15), kind=WindowKind.FIRST_CALL)
    assert backlog_time([Load(15, [[Charge("s/x", 1, limit)]])], {}, NOW) <= timedelta(minutes=15)


def test_the_first_stop_condition_counts() -> None:
    stop = Stop(calls=1_000, items=10, duration=timedelta(hours=1))
    assert time_to_stop(stop, Size(calls=900, elapsed=timedelta(minutes=30)), (10.0, 0.0)) == timedelta(seconds=10)
    assert time_to_stop(stop, Size(), (0.0, 0.0)) == timedelta(hours=1)
    assert time_to_stop(Stop(), Size(), (1.0, 1.0)) is None


def test_a_flow_that_revisits_never_ends_by_itself() -> None:
    assert never_ends(Flow("a", (FacetUse("profiles", ranker="circular"),)))
    assert never_ends(Flow("a", (FacetUse("profiles", revisit=timedelta(minutes=1)),)))
    assert not never_ends(Flow("a", (FacetUse("posts"),)))


PURSES = (
    BudgetStatus(of="api.x.com", is_crawl=False, spent=9.94, reserved=0.05, allowed=10.0),
    BudgetStatus(of="elections", is_crawl=True, spent=1.97, reserved=0.0, allowed=None),
)


@pytest.mark.parametrize("height", [12, 24, 60])
def test_money_is_in_the_picture_however_small_the_window(height: int) -> None:
    lines = shown(structs.replace(GLIMPSE, purses=PURSES), height=height)
    month = next(line for line in lines if "api.x.com" in line)
    assert re.findall(r"\$[\d.]+", month) == ["$9.94", "$10.00", "$0.05"]
    assert any(re.findall(r"\$[\d.]+", line) == ["$1.97"] for line in lines)


def test_money_has_the_same_names_for_machines_everywhere() -> None:
    values = as_values(structs.replace(GLIMPSE, purses=PURSES))
    assert (values["dollars_spent"], values["dollars_allowed"]) == (1.97, None)
    assert values["months"]["api.x.com"]["dollars_spent"] == 9.94
    assert values["months"]["api.x.com"]["dollars_allowed"] == 10.0

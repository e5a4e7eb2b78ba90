"""Which stretch of time plots show, and on which scale."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.requests import Request

from bowerbird.errors import UserError
from bowerbird.web.ranges import Range, chosen, range_of, with_range
from failures import raises_code

NOW = datetime(2026, 5, 10, 12, tzinfo=UTC)
HOURS = [NOW - timedelta(hours=hour) for hour in range(48, -1, -1)]
PLOT: dict[str, Any] = {
    "kind": "stacked", "x": "time", "step": 3_600, "xs": [at.isoformat() for at in HOURS],
    "series": [{"label": "posts", "values": list(range(49))}],
}  # fmt: skip


def asked(query: str) -> Range:
    return range_of(Request({"type": "http", "query_string": query.encode(), "headers": []}))


def test_a_stretch_is_cut_with_the_step_that_it_begins_in() -> None:
    told = chosen(PLOT, asked("span=hour"), NOW + timedelta(minutes=30))
    assert (told["xs"], told["series"][0]["values"]) == ([HOURS[-2].isoformat(), HOURS[-1].isoformat()], [47, 48])
    stamps = {**PLOT, "xs": [at.timestamp() for at in HOURS], "step": 0}
    assert len(chosen(stamps, asked("span=day"), NOW)["xs"]) == 25
    told = chosen(PLOT, asked("from=2026-05-09T00:00&to=2026-05-09T02:00"), NOW)
    assert told["xs"] == [f"2026-05-09T0{hour}:00:00+00:00" for hour in range(3)]
    told = chosen(PLOT, asked("from=2027-01-01T00:00"), NOW)
    assert told["none"]
    assert not told.get("xs")


def test_without_a_choice_a_plot_stays_as_it_is() -> None:
    assert chosen(PLOT, asked("unit=day"), NOW) == PLOT
    named = {"kind": "bars", "x": "number", "xs": ["en"], "series": [{"label": "posts", "values": [1]}]}
    assert chosen(named, asked("span=hour"), NOW) == named


def test_on_a_scale_of_powers_of_ten_there_is_no_nought_and_nothing_is_stacked() -> None:
    told = chosen(PLOT, asked("log=yes"), NOW)
    assert (told["kind"], told["y"], told["series"][0]["values"][:2]) == ("lines", "log", [None, 1])


def test_the_choice_is_kept_in_addresses_and_what_else_they_say_in_the_form() -> None:
    wanted = asked("unit=day&span=week&from=2026-05-09T00:00&log=yes&said=x")
    assert (wanted.query, wanted.others) == ("span=week&log=yes", (("unit", "day"),))
    assert with_range("/figures?unit=hour#plot", wanted) == "/figures?unit=hour&span=week&log=yes#plot"
    assert with_range("/figures", asked("unit=day")) == "/figures"
    assert asked(asked("from=2026-05-09T00:00").query) == asked("from=2026-05-09T00:00")
    zoned = asked("from=2026-05-09T02:00%2B02:00&to=2026-05-09")
    assert zoned.query == "span=between&from=2026-05-09T00%3A00&to=2026-05-10T00%3A00"


def test_when_a_search_ends_is_no_stretch_of_time() -> None:
    wanted = asked("since=2026-05-01&until=2026-05-02&q=flood")
    assert (wanted.query, with_range("/data/users", wanted)) == ("", "/data/users")


@pytest.mark.parametrize(
    ("query", "named"),
    [("from=yesterday", "'yesterday'"), ("from=2026-05-02T00:00&to=2026-05-01T00:00", "2026-05-02T00:00 2026-05-01T00:00")],
)
def test_what_is_no_stretch_of_time_is_refused_with_advice(query: str, named: str) -> None:
    with raises_code(UserError, "invalid") as caught:
        asked(query)
    assert all(value in caught.value.problem for value in named.split())

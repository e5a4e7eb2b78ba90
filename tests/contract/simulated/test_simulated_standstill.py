"""A world whose time stands still, on a server whose limits go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bowerbird.model import Request
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.serving.truth_pages import TruthPages
from bowerbird.simulated.world import WorldSettings
from marks import long

UNTIL = datetime(2026, 1, 8, 15, tzinfo=UTC)
MUCH_LATER = UNTIL + timedelta(days=300)


def service(dialect: str, until: datetime | None = UNTIL) -> SimulatedService:
    return simulate(Setup(dialect=dialect, world=WorldSettings(accounts=80, until=until), app_tokens=1))


def requests(dialect: str, simulated: SimulatedService) -> list[Request]:
    keys = [simulated.dialect.account_key(number) for number in range(6)]
    bearer = {"authorization": f"Bearer {list(simulated.tokens)[-1].value}"}
    if dialect == "mastodon":
        paths = [f"/api/v1/accounts/{key}{end}" for key in keys for end in ("", "/statuses", "/followers")]
        return [Request(path=path) for path in paths]
    paths = ["/1.1/users/show.json", "/1.1/statuses/user_timeline.json", "/1.1/followers/ids.json"]
    return [Request(path=path, query=(("user_id", key),), headers=bearer) for key in keys for path in paths]


@pytest.mark.parametrize("dialect", ["mastodon", *long("twitter_v1")])
def test_answers_stay_the_same_when_time_stands_still(dialect: str) -> None:
    still, moving = service(dialect), service(dialect, None)
    asked = requests(dialect, still)
    then = [still.receive(request, UNTIL).reply.body for request in asked]
    assert [still.receive(request, MUCH_LATER).reply.body for request in asked] == then
    assert [moving.receive(request, UNTIL).reply.body for request in asked] == then
    assert [moving.receive(request, MUCH_LATER).reply.body for request in asked] != then


@pytest.mark.parametrize("dialect", ["mastodon", "twitter_v1"])
def test_before_it_stands_still_time_goes_on(dialect: str) -> None:
    still, moving = service(dialect), service(dialect, None)
    earlier = UNTIL - timedelta(days=2)
    for request in requests(dialect, still):
        assert still.receive(request, earlier).reply.body == moving.receive(request, earlier).reply.body


def test_windows_go_on_where_time_stands_still() -> None:
    still = service("twitter_v1")
    asked = requests("twitter_v1", still)[0]
    status = Request(path="/1.1/application/rate_limit_status.json", headers=asked.headers)
    resets = []
    for now in (MUCH_LATER, MUCH_LATER + timedelta(hours=1)):
        told = still.receive(asked, now).reply.headers["x-rate-limit-reset"]
        limits = msgspec.json.decode(still.receive(status, now).reply.body)["resources"]["users"]["/users/show"]
        assert int(told) == limits["reset"]
        assert limits["remaining"] == limits["limit"] - 1
        resets.append(int(told))
    assert resets[1] - resets[0] == 3600


def test_the_truth_stands_still_too() -> None:
    still = service("mastodon")
    pages = TruthPages(still)
    asked = Request(path=f"/_simulated/truth/{still.dialect.account_key(1)}")
    assert pages.handle(asked, MUCH_LATER, "127.0.0.1") == pages.handle(asked, UNTIL, "127.0.0.1")

"""The simulated server's limiter: windows, refusals and what it reports."""

from datetime import UTC, datetime, timedelta

from bowerbird.model import WindowKind
from bowerbird.simulated.limiter import Limiter, Throttle

START = datetime(2026, 1, 5, 12, 7, 3, 500_000, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
TOKEN = Throttle("token", 2, QUARTER)
FIRST = Throttle("first", 2, QUARTER, WindowKind.FIRST_CALL)


def test_an_aligned_window_ends_at_the_next_multiple_of_its_length() -> None:
    verdict = Limiter().spend([(TOKEN, "a")], START)
    assert (verdict.is_allowed, verdict.limit, verdict.remaining) == (True, 2, 1)
    assert verdict.reset_at == datetime(2026, 1, 5, 12, 15, tzinfo=UTC)


def test_a_first_call_window_starts_with_the_second_of_the_first_call() -> None:
    limiter = Limiter()
    first = limiter.spend([(FIRST, "a")], START)
    assert first.reset_at == datetime(2026, 1, 5, 12, 22, 3, tzinfo=UTC)
    assert limiter.spend([(FIRST, "a")], START + timedelta(minutes=5)).reset_at == first.reset_at
    later = limiter.spend([(FIRST, "a")], first.reset_at)
    assert (later.remaining, later.reset_at) == (1, first.reset_at + QUARTER)


def test_a_month_ends_with_the_calendar_even_in_december() -> None:
    month = Throttle("money", 5, timedelta(days=30), WindowKind.MONTH)
    assert Limiter().spend([(month, "a")], datetime(2026, 12, 31, 23, tzinfo=UTC)).reset_at == datetime(2027, 1, 1, tzinfo=UTC)


def test_a_refused_request_counts_in_no_throttle() -> None:
    limiter = Limiter()
    wide = Throttle("account", 10, QUARTER)
    for _ in range(3):
        verdict = limiter.spend([(wide, "me"), (TOKEN, "a")], START)
    assert (verdict.is_allowed, verdict.name, verdict.remaining) == (False, "token", 0)
    assert (limiter.used("account"), limiter.used("token"), limiter.refused) == (2, 2, 1)


def test_the_verdict_describes_the_smallest_remainder() -> None:
    limiter = Limiter()
    paging = Throttle("paging", 3, QUARTER)
    assert limiter.spend([(paging, "me"), (TOKEN, "a")], START).name == "token"
    assert limiter.spend([(paging, "me"), (TOKEN, "b")], START).remaining == 1
    assert limiter.spend([(paging, "me"), (TOKEN, "c")], START).name == "paging"


def test_accounts_do_not_share_a_throttle() -> None:
    limiter = Limiter()
    assert all(limiter.spend([(TOKEN, who)], START).is_allowed for who in "aabb")
    assert not limiter.spend([(TOKEN, "a")], START).is_allowed


def test_looking_spends_nothing() -> None:
    limiter = Limiter()
    assert limiter.look(TOKEN, "a", START).remaining == 2
    limiter.spend([(TOKEN, "a")], START)
    assert limiter.look(TOKEN, "a", START).remaining == 1
    assert limiter.look(TOKEN, "a", START + QUARTER).remaining == 2


def test_every_window_can_be_audited_and_memory_is_bounded() -> None:
    limiter = Limiter(keep=2)
    for quarter in range(5):
        limiter.spend([(TOKEN, "a")], START + quarter * QUARTER)
    windows = list(limiter.windows("token"))
    assert [window.used for window in windows] == [1, 1, 1]
    assert windows[-1].starts_at == datetime(2026, 1, 5, 13, tzinfo=UTC)
    assert limiter.used("token") == 5

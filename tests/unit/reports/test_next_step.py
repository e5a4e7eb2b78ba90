"""What to do next about a crawl, from what its file says now and how its store stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import structs

from bowerbird.app import vocabulary
from bowerbird.crawl.process.endings import GOOD_ENOUGH, LIMIT_REACHED, NOTHING_LEFT, SOME_GIVEN_UP
from bowerbird.errors import Failure
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.flows.flow import Size
from bowerbird.limits.budget import BudgetStatus
from bowerbird.reports.next_steps.again import Again
from bowerbird.reports.next_steps.agreed import Wish
from bowerbird.reports.next_steps.deciding import Ended, next_step
from bowerbird.reports.status.left_out import NotAsked

NOW = datetime(2026, 12, 30, tzinfo=UTC)
AGAIN = Again(file="a.toml")
COMMAND = "bowerbird crawl a.toml"
DONE = Ended(state="finished", reason=Failure(NOTHING_LEFT, ""), now=NOW)


def plan(stop: str = "", provider: str = "mastodon", flow: str = "timelines") -> CrawlPlan:
    text = f'flow = "{flow}"\nseeds = ["1"]\n[stop]\n{stop}\n[service]\nprovider = "{provider}"\nbase = "https://s.example"\n'
    return parse_crawl(text, Path("a.toml"), vocabulary())


def test_where_everything_was_asked_nothing_is_to_be_done() -> None:
    step = next_step(plan(), AGAIN, DONE)
    assert (step.command, step.lines()[0][0]) == ("", "done")


def test_what_was_given_up_is_tried_again() -> None:
    assert next_step(plan(), AGAIN, structs.replace(DONE, reason=Failure(SOME_GIVEN_UP, ""))).command == COMMAND


def test_what_waits_for_a_token_is_asked_when_there_is_one() -> None:
    lacking = NotAsked(
        crawl="a", service="s", facet="quotes", code="needs_credential", why="", advice="add one with: …", since=NOW, targets=3
    )
    step = next_step(plan(), AGAIN, structs.replace(DONE, left_out=(lacking,)))
    assert step.lines() == [("first", "to ask for quotes of s too, add one with: …"), ("go on", COMMAND)]
    nobody_waits = structs.replace(lacking, targets=0)
    assert next_step(plan(), AGAIN, structs.replace(DONE, left_out=(nobody_waits,))).command == ""


def test_all_conditions_that_are_met_are_named_at_once() -> None:
    ended = Ended(
        state="finished",
        reason=Failure(LIMIT_REACHED, "9 calls reached"),
        size=Size(calls=9, elapsed=timedelta(hours=2)),
        now=NOW,
    )
    step = next_step(plan('calls = 9\nduration = "1h"\nposts = 5'), AGAIN, ended)
    assert [each.split()[1] for each in step.first] == ["calls", "duration"]


def test_a_sample_that_is_good_enough_goes_on_when_more_is_asked_of_it() -> None:
    ended = Ended(state="finished", reason=Failure(GOOD_ENOUGH, "degree 7"), half_width=0.1, now=NOW)
    step = next_step(plan("half_width = 0.1", flow="sample"), AGAIN, ended)
    assert step.first == ("lower half_width under [stop] of a.toml, now 0.1: the sample is as good as that",)
    assert next_step(plan("half_width = 0.05", flow="sample"), AGAIN, ended).first == ()


def test_what_failed_is_mended_first() -> None:
    step = next_step(plan(), AGAIN, Ended(state="failed", reason=Failure("credential_refused", "the token is refused"), now=NOW))
    assert (step.first, step.command) == (("mend what it failed for, named above",), COMMAND)


def test_what_may_be_mended_by_now_is_not_asked_for_again() -> None:
    failed = Ended(state="failed", reason=Failure("credential_refused", "the token is refused"), touched=("the vault",), now=NOW)
    told = [("note", "it failed for what is named above; the vault was changed since"), ("go on", COMMAND)]
    assert next_step(plan(), AGAIN, failed).lines() == told
    assert next_step(None, AGAIN, failed).lines() == told


def test_a_file_that_cannot_be_read_is_not_judged() -> None:
    step = next_step(None, Again(), Ended(state="finished", reason=Failure(LIMIT_REACHED, "9 calls reached"), now=NOW))
    assert "9 calls reached" in step.first[0]
    assert step.command == "bowerbird crawl FILE"
    assert next_step(None, Again(), Ended(state="stopped", now=NOW)).first == ()


def purse(spent: float, *, is_crawl: bool = False) -> BudgetStatus:
    of, resets = ("a", None) if is_crawl else ("s.example", datetime(2027, 1, 1, tzinfo=UTC))
    return BudgetStatus(of=of, is_crawl=is_crawl, spent=spent, reserved=0.0, allowed=None, resets_at=resets)


def test_a_month_that_is_used_up_names_the_first_day_of_the_next() -> None:
    ended = Ended(state="stopped", purses=(purse(9.999), purse(9.999, is_crawl=True)), agreed=Wish(None, 10_000), now=NOW)
    step = next_step(plan(provider="x"), AGAIN, ended)
    assert step.first[0].startswith("wait until 1 January 2027 (UTC)")
    assert (step.month, step.command) == (step.first[0], f"{COMMAND} --yes")


def test_what_is_left_of_what_was_agreed_to_may_be_spent_without_asking() -> None:
    ended = Ended(state="stopped", purses=(purse(0.2), purse(0.2, is_crawl=True)), agreed=Wish(500, 10_000), now=NOW)
    again = structs.replace(AGAIN, dollars=0.5)
    assert next_step(plan(provider="x"), again, ended).command == f"{COMMAND} --dollars 0.3"
    spent = structs.replace(ended, purses=(purse(0.499), purse(0.499, is_crawl=True)))
    assert next_step(plan(provider="x"), again, spent).command == f"{COMMAND} --dollars 0.5 --yes"
    assert next_step(plan(provider="x"), AGAIN, spent).about.startswith("--yes agrees that it may spend $10.00 a month")

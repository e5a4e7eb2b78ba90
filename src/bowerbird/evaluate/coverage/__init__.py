"""How much of what people post does each policy capture, with the same calls? Through the real engine, in virtual time, or the
policies alone (`alone`), much faster.

One world of accounts, most of them silent, a few of them busy, with bursts and a daily rhythm; every policy begins with nothing
but their names. `scenes` says what each may ask and how often. A post is captured when it is stored by the end of the period.
Shares count the posts that can still be seen then, as TwitterEcho's own measurement did; `with_deleted` counts all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

from msgspec import Struct, structs, to_builtins

from bowerbird.errors import UserError
from bowerbird.evaluate.coverage.activity import PUBLISHED
from bowerbird.evaluate.coverage.alone import make_skyline, run_alone
from bowerbird.evaluate.coverage.posting_times import read_posting_times, recorded_world
from bowerbird.evaluate.coverage.run import Order, Outcome, make_world, run_policy
from bowerbird.evaluate.coverage.scenes import SCENES, USUAL_ACCOUNTS, budget, drawn_world
from bowerbird.evaluate.coverage.truth import Written, written
from bowerbird.planning.pools import process_pool
from bowerbird.simulated.world.settings import MOST_ACCOUNTS

__all__ = ["SCENES", "Wish", "evaluate_coverage"]

Say = Callable[[str], None]
_LISTEN = 0.5
"""Seconds between two looks at what the processes say."""


class Wish(Struct, frozen=True, kw_only=True):
    """What is to be evaluated."""

    accounts: int | None = None
    days: float = 14.0
    seed: int = 1
    policies: tuple[str, ...] = ()
    jobs: int = 2
    posting_times: Path | None = None
    fast: bool = False
    """The policies alone, without the engine."""


def evaluate_coverage(wish: Wish, say: Say = print) -> dict[str, Any]:
    """The figures of every policy by its name, and of the world they were measured on."""
    orders = list(_orders(wish))
    there, outcomes = (_alone if wish.fast else _through_the_engine)(orders, wish.jobs, say)
    allowed = budget(orders[0].accounts)
    return {
        "world": {**there.figures, "days": wish.days, "seed": wish.seed},
        "through": "policies alone" if wish.fast else "engine",
        "budget": {"calls": allowed.allowance, "minutes": allowed.window / timedelta(minutes=1)},
        "echo_published": to_builtins(PUBLISHED),
        **{order.policy: outcomes[order.policy].figures for order in orders},
    }


def _through_the_engine(orders: Sequence[Order], jobs: int, say: Say) -> tuple[Written, dict[str, Outcome]]:
    world, start = make_world(orders[0]), orders[0].world.start
    there = written(world, start, start + timedelta(days=orders[0].days))
    say(_described(there.figures, orders[0].days))
    return there, {outcome.policy: outcome for outcome in _outcomes(orders, jobs, say)}


def _alone(orders: Sequence[Order], jobs: int, say: Say) -> tuple[Written, dict[str, Outcome]]:
    """One after the other, whatever `jobs` says: the accounts would have to be drawn again for each process."""
    skyline = make_skyline(orders[0])
    say(_described(skyline.there.figures, orders[0].days))
    return skyline.there, {order.policy: _told(run_alone(order, skyline, say), say) for order in orders}


def _orders(wish: Wish) -> Iterator[Order]:
    unknown = [name for name in wish.policies if name not in SCENES]
    if unknown:
        raise UserError(
            f"there is no policy {unknown[0]!r} to evaluate", f"choose among {', '.join(SCENES)}", code="unknown_name"
        )
    worlds = 1
    if wish.posting_times is None:
        accounts = wish.accounts or USUAL_ACCOUNTS
        worlds = -(-accounts // MOST_ACCOUNTS) if wish.fast else 1
        settings = drawn_world(accounts // worlds, wish.seed)
    else:
        settings = recorded_world(read_posting_times(wish.posting_times, wish.accounts), wish.seed, wish.days)
    for policy in wish.policies or SCENES:
        yield Order(policy=policy, world=settings, days=wish.days, posting_times=wish.posting_times, worlds=worlds)


def _described(figures: dict[str, Any], days: float) -> str:
    return (
        f"{figures['accounts']:,} accounts, {figures['silent']:.0%} of them silent; {figures['posts']:,} posts in {days:g} days, "
        f"{figures['top_share']:.0%} of them by the top 2.2 % of those who wrote at least twice"
    )


def _outcomes(orders: Sequence[Order], jobs: int, say: Say) -> Iterator[Outcome]:
    """Runs every order in a process of its own, so many at once, those with most calls first, so that the last ones are short;
    passes on what they say meanwhile."""
    if jobs == 1:
        for order in orders:
            yield _told(run_policy(order, say), say)
        return
    lines: Queue[str] = get_context("spawn").Queue()
    with process_pool(jobs, _connect, lines, most_tasks=1) as pool:
        longest_first = sorted(orders, key=lambda order: -SCENES[order.policy].calls(order.accounts, order.days))
        waiting: set[Future[Outcome]] = {pool.submit(_run_apart, order) for order in longest_first}
        while waiting:
            done, waiting = wait(waiting, timeout=_LISTEN, return_when=FIRST_COMPLETED)
            while not lines.empty():
                say(lines.get())
            for each in done:
                yield _told(each.result(), say)


def _told(outcome: Outcome, say: Say) -> Outcome:
    captured = outcome.captured
    say(
        f"{outcome.policy}: {captured.posts:.2%} of the posts, {captured.per_user:.2%} per user, "
        f"median delay {captured.median_delay_minutes:g} minutes, {outcome.calls:,} calls ({outcome.seconds:.0f} s)"
    )
    return outcome


class _Line:
    """Where a process of the pool says what it does."""

    to: Queue[str] | None = None


def _connect(lines: Queue[str]) -> None:
    _Line.to = lines


def _run_apart(order: Order) -> Outcome:
    lines = _Line.to
    return structs.replace(run_policy(order, lines.put if lines is not None else print))

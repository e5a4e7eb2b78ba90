"""The way of one command, from its line to its last words."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import typer
from msgspec import structs

from bowerbird.cli.checks.services import AddressError
from bowerbird.cli.commands.crawling.credentials import open_vault
from bowerbird.cli.everyday.asking import ASKINGS, Asking
from bowerbird.cli.everyday.inputs import INPUT, Inputs, cut, read_inputs
from bowerbird.cli.everyday.output.progress import Progress
from bowerbird.cli.everyday.plans import Job, make_job
from bowerbird.cli.everyday.running import Counted, Done, run_job
from bowerbird.cli.everyday.stores import folder_of, name_of, remove, store_of, sweep
from bowerbird.cli.everyday.where import ON, Where, services_of, told
from bowerbird.cli.everyday.wishes import Wish
from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.output import Output, printable
from bowerbird.clock import RealClock
from bowerbird.crawl.process.endings import BUDGET_SPENT
from bowerbird.crawl.seeding.meaning import OTHER_SERVER
from bowerbird.errors import Busy, DiskFull, UserError
from bowerbird.export.rows.endings import whole_format
from bowerbird.export.rows.files import format_of
from bowerbird.limits.budget import TOO_SMALL
from bowerbird.model import TRAITS, CrawlState
from bowerbird.reports.status.money import own_purse, spent_values
from bowerbird.settings import load_settings

FAILED = 3
INTERRUPTED = 130
_ADVICE = {TOO_SMALL: "Raise --budget.", OTHER_SERVER: "Leave --on out, or open the post there and use its own address."}
"""What to do on a command line, where a crawl would change its file."""
_ENDED = (CrawlState.FINISHED, CrawlState.FAILED)
_MOST_NAMED = 5


def carry_out(wish: Wish) -> None:
    """Does what was asked, and ends with the exit code that says how it went."""
    if wish.as_json and wish.out is None:
        raise UserError("name a file with -o: standard output cannot hold both the rows and the JSON", code="needs_option")
    if wish.since is not None and wish.until is not None and wish.since >= wish.until:
        raise UserError(
            "--since is later than --until: nothing can lie between them", "exchange the two", code="conflicting_options"
        )
    if whole_format(wish.out, wish.format) is None:
        format_of(wish.out, wish.format)
    settings, asking = load_settings(vault=wish.vault), ASKINGS[wish.command]
    sweep(folder_of(settings), RealClock().now())
    inputs, services = _asked(wish, asking, folder_of(settings))
    vault = open_vault(settings)
    job = make_job(wish, inputs, services, vault)
    name = name_of(wish, job)
    store = store_of(wish, name, settings)
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if wish.fresh and wish.store is None:
        remove(store)
    job = structs.replace(job, plan=structs.replace(job.plan, name=name, store=str(store)))
    counted = Counted()
    progress = Progress(asking.rows, counted, total_rows(wish, job), is_quiet=wish.is_quiet, as_json=wish.as_json)
    try:
        done = asyncio.run(run_job(job, wish, vault, progress, counted))
    except UserError as error:
        advice = error.option_advice if isinstance(error, AddressError) else _ADVICE.get(error.code, error.advice)
        raise UserError(error.problem, advice, code=error.code) from error
    except (Busy, DiskFull) as error:
        _tell(f"Failed: {error} What was found is safe: the same command goes on.", wish)
        Output(as_json=wish.as_json).result(
            {"state": CrawlState.FAILED, "reason": msgspec.to_builtins(error.failure), "rows": counted()}
        )
        raise typer.Exit(FAILED) from None
    if wish.store is None and done.is_over:
        remove(store)
        if inputs.spool is not None:
            inputs.spool.unlink(missing_ok=True)
    if _leaves_nothing(done, wish) and wish.out is not None:
        wish.out.unlink(missing_ok=True)
    _report(done, wish, job)
    raise typer.Exit(_code(done))


def _leaves_nothing(done: Done, wish: Wish) -> bool:
    """Whether its file is one without rows that it made itself: in the way of the command that is spelled right."""
    is_own = wish.out is not None and wish.out.is_file() and not wish.appends
    return is_own and not done.rows and done.run.ending.state == CrawlState.FAILED


def _asked(wish: Wish, asking: Asking, folder: Path) -> tuple[Inputs, list[Where]]:
    """What is asked, and whom."""
    where = told(wish.on, wish.provider) if wish.on is not None else None
    if where is None and wish.provider is not None:
        raise UserError(
            "--provider says which API the address of --on speaks", "add --on with the address", code="conflicting_options"
        )
    if where is None and asking.needs_on:
        raise UserError(f"`bowerbird {wish.command}` needs to know where", f"add {ON}", code="needs_option")
    default = TRAITS[where.provider].shortcuts.trends if where is not None and wish.command == "trends" else ""
    default = default or (" " if wish.command in ("stream", "trends") else "")
    inputs = read_inputs(wish, folder, default)
    if not asking.names_inputs and inputs.carried == (INPUT,):
        inputs = structs.replace(inputs, carried=())
    inputs = cut(inputs, wish.limit) if asking.is_batched else inputs
    return inputs, [where] if where is not None else services_of(inputs.seeds, wish.command)


def total_rows(wish: Wish, job: Job) -> int | None:
    """As many rows as there can be, where that is known; of a stream as many as were wanted, however many words it is about."""
    if job.plan.streams:
        return wish.limit
    if job.asking.is_batched or wish.limit is not None:
        count = sum(1 for _ in job.inputs.seeds)
        return count if job.asking.is_batched else count * (wish.limit or 0)
    return None


def _report(done: Done, wish: Wish, job: Job) -> None:
    run = done.run
    if not wish.as_json:
        for line in _lines(done, wish, job):
            _tell(line, wish)
    Output(as_json=wish.as_json).result(
        {
            "state": run.ending.state,
            "reason": msgspec.to_builtins(run.ending.reason),
            "rows": done.rows,
            "calls": run.last.whole.calls,
            "seconds": round(run.last.elapsed.total_seconds(), 3),
            "out": wish.out,
            "left_out": dict(done.left_out),
            "not_found": run.not_found,
            "closed": run.closed,
            "opted_out": run.left_alone_in_all,
            "was_interrupted": run.was_interrupted,
            **spent_values(run.last.purses, run.last.name),
        }
    )


def _lines(done: Done, wish: Wish, job: Job) -> list[str]:
    run, rows = done.run, job.asking.rows
    where = f" in {wish.out}" if wish.out is not None and wish.out.exists() else ""
    calls = f"{numbers.many(run.last.whole.calls, 'call')}, {numbers.span(run.last.elapsed)}"
    lines = [f"{done.rows:,} {rows if done.rows != 1 else _one(rows)}{where} ({calls})."]
    if not done.rows:
        lines = [f"Nothing was found: {_why(done, job)} ({calls})."]
    if run.ending.state == CrawlState.FAILED:
        because = f" The last trouble was: {run.last.trouble}." if run.last.trouble else ""
        lines.append(f"Failed: {run.ending.reason}.{because}")
    elif run.ending.state not in _ENDED and not done.is_enough:
        lines.append(f"Not finished: {run.ending.reason}. The same command goes on where it stopped.")
        if whole_format(wish.out, wish.format) is not None and not where:
            lines.append(f"{wish.out} is written when everything is there.")
    elif run.ending.reason.code == BUDGET_SPENT:
        lines.append(
            "Not all of it: the next call may cost more than is left of --budget. With a larger one, which counts what is spent "
            "already, the same command goes on where it stopped."
        )
    if (purse := own_purse(run.last.purses, run.last.name)) is not None:
        lines.append(f"Spent: {purse.words}.")
    lines += [f"Left out: {count:,} {why}." for why, count in sorted(done.left_out.items())]
    lines += _absent(done)
    return lines


def _one(rows: str) -> str:
    return rows.removesuffix("s")


def _why(done: Done, job: Job) -> str:
    run = done.run
    if run.not_found or run.closed or run.left_alone_in_all:
        return "what was asked about is not to be had"
    if done.left_out:
        return "nothing of what is there was wanted"
    if run.ending.reason.code == BUDGET_SPENT:
        return "the budget ended it before"
    if run.last.given_up:
        return f"some questions were given up, the last for: {run.last.trouble or 'no answer'}"
    if run.ending.state not in _ENDED:
        return "it ended before"
    if run.ending.state == CrawlState.FAILED:
        return "not every question was answered"
    return "nothing of it was written meanwhile" if job.plan.streams else "every question was answered, and with nothing"


def _absent(done: Done) -> list[str]:
    run, lines = done.run, []
    if run.not_found:
        lines.append(f"Not found: {_named(run.not_found)}.")
    for reason in dict.fromkeys(run.closed.values()):
        seeds = tuple(seed for seed, why in run.closed.items() if why == reason)
        lines.append(f"{numbers.outcome_words(reason).capitalize()}: {_named(seeds)}.")
    if run.left_alone_in_all:
        lines.append(f"Asked not to be collected, and left alone: {_named(run.first_left_alone) or run.left_alone_in_all}.")
    if run.last.given_up:
        lines.append(f"Given up after many tries: {numbers.many(run.last.given_up, 'question')} ({run.last.trouble}).")
    return lines


def _named(seeds: tuple[str, ...]) -> str:
    more = f" and {len(seeds) - _MOST_NAMED:,} more" if len(seeds) > _MOST_NAMED else ""
    return ", ".join(seeds[:_MOST_NAMED]) + more


def _tell(line: str, wish: Wish) -> None:
    """Words go to standard error: rows may be on standard output."""
    if not wish.as_json:
        sys.stderr.write(printable(line) + "\n")
        sys.stderr.flush()


def _code(done: Done) -> int:
    if done.run.was_interrupted:
        return INTERRUPTED
    return FAILED if done.run.ending.state == CrawlState.FAILED else 0

"""`bowerbird sample`: the accounts that a sampling crawl has drawn, what they say about all accounts, and how sure that is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.screens.amounts import numbers
from bowerbird.cli.screens.line_files import LineFile
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.screens.sample_page import figure_values, show_sample
from bowerbird.cli.which import StoreArgument, crawl_of_file, find_store, read_store
from bowerbird.clock import RealClock
from bowerbird.reports.studies.sample import Account, Sample, read_samples

_COLUMNS = ("key", "id", "handle", "degree", "steps", "weight", "crawl", "service")


def command(
    place: StoreArgument = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, help="Draw so many accounts at most, of the same weight; default: all met.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Another seed is another draw of --size.")] = 0,
    top: Annotated[int, typer.Option("--top", min=0, help="How many accounts to show.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write them to a new .csv, .jsonl or .txt (keys) file.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a sample tells about all accounts, whether it has settled, and who is in it with which weight. Changes nothing.

    A mean over the sample is a mean over all accounts when each account counts with its weight. Who asked not to be collected is
    part of the estimates, but not of the list.
    """
    output, found = Output(as_json=as_json), find_store(place)

    async def read() -> list[Sample]:
        async with read_store(found, RealClock()) as database:
            return await read_samples(database, await crawl_of_file(database, found))

    samples = asyncio.run(read())
    drawn = [_drawn(sample, size, seed) for sample in samples]
    if not samples:
        output.line("No sample: no crawl here walks from account to account; try the flow `sample`.")
    for sample, accounts in zip(samples, drawn, strict=True):
        show_sample(output, sample)
        _show_accounts(output, accounts, top)
    if out is not None:
        _write(out, samples, drawn)
        output.line(f"The accounts are in {out}.")
    values = [_values(sample, accounts) for sample, accounts in zip(samples, drawn, strict=True)]
    output.result({"store": found.shown, "out": out, "samples": values})


def _drawn(sample: Sample, size: int | None, seed: int) -> list[Account]:
    accounts = sample.accounts if size is None else sample.drawn(size, seed)
    return [account for account in accounts if not account.opts_out]


def _show_accounts(output: Output, accounts: Sequence[Account], top: int) -> None:
    if top and accounts:
        rows = [(f"  {each.handle or each.key}", each.degree, each.steps, f"{each.weight:.6f}") for each in accounts[:top]]
        output.table("", ("  account", "degree", "steps", "weight"), rows)
        output.line(f"  {numbers.many(len(accounts), 'account')} in all")


def _write(out: Path, samples: Sequence[Sample], drawn: Sequence[Sequence[Account]]) -> None:
    file = LineFile(out, _COLUMNS)
    try:
        for sample, accounts in zip(samples, drawn, strict=True):
            for account in accounts:
                file.write({"crawl": sample.crawl, "service": sample.service, **_account(account)})
    finally:
        file.close()


def _values(sample: Sample, accounts: Sequence[Account]) -> dict[str, Any]:
    return {**figure_values(sample), "sample": [_account(account) for account in accounts]}


def _account(account: Account) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(account)
    del values["opts_out"]
    return values

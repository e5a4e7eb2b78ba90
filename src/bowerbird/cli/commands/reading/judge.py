"""`bowerbird judge`: a random sample of judged accounts, labelled by people, tells how good the judge is."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import SystemRandom
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bowerbird.analysis.agreement import Share
from bowerbird.cli.module_screens import labelling
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, NamedStore, StoreArgument, find_store, one_crawl, opened_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant
from bowerbird.model.subjects.community import JUDGE, VALUES
from bowerbird.ports import Database
from bowerbird.reports.community.judged import JudgedAccount
from bowerbird.reports.labels import Labelled, read_drawn_accounts, read_labelled, read_labels, read_latest
from bowerbird.store.judgements.labels import Group, Label, draw, keep_label, keep_labels


class _Asked(Struct, frozen=True, kw_only=True):
    """Which sample is meant, and who labels it."""

    place: NamedStore
    crawl: str | None
    judge: str
    said: str
    size: int
    who: str
    posts: int
    labels: Path | None
    output: Output


def command(
    place: StoreArgument = None,
    sample: Annotated[int, typer.Option("--sample", min=1, help="How many accounts are drawn; a larger number adds some.")] = 100,
    said: Annotated[str, typer.Option("--of", metavar="WORD", help="What the judge said: yes, no or undecided.")] = "yes",
    judge: Annotated[str, typer.Option("--judge", help="Whose judgements.")] = "community",
    who: Annotated[str, typer.Option("--by", metavar="NAME", help="Who labels.")] = "user",
    posts: Annotated[int, typer.Option("--posts", min=0, help="How many of its latest posts are shown of each.")] = 5,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="A CSV of id or handle, label and perhaps who, instead of asking.")
    ] = None,
    crawl: CrawlOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Label a random sample of the accounts that a judge said yes, no or undecided of, one key each, and learn how good it is.

    The sample is drawn once and stays: who is interrupted goes on, and others (--by) label the same accounts, so that their
    agreement can be told. Seeds and accounts that a person decided are left out. With --json nobody is asked.
    """
    asked = _Asked(
        place=find_store(place), crawl=crawl, judge=judge, said=said, size=sample, who=who, posts=posts, labels=labels,
        output=Output(as_json=as_json),
    )  # fmt: skip
    if judge == JUDGE and said not in VALUES:
        raise UserError(
            f"--of {said!r} is nothing a judge says{meant(said, VALUES)}",
            f"write one of {', '.join(VALUES)}",
            code="unknown_name",
        )
    name, found = asyncio.run(_judge(asked))
    labelling.show_labelled(asked.output, found)
    asked.output.result({"crawl": name, **msgspec.to_builtins(found)})


async def _judge(asked: _Asked) -> tuple[str, Labelled]:
    clock = RealClock()
    given = labelling.labels_in(asked.labels, asked.who) if asked.labels is not None else None
    async with opened_store(asked.place, clock) as database:
        crawl, name = await one_crawl(database, asked.place, asked.crawl)
        group = Group(crawl, asked.judge, asked.said)
        async with database.transaction() as tx:
            await draw(tx, group, asked.size, SystemRandom(), clock.now())
        if given is None and not asked.output.as_json and not sys.stdin.isatty():
            # Not before: who named a judge that there is not is told that first.
            raise UserError(
                "accounts are shown and labelled in a terminal",
                "elsewhere give --labels FILE, or --json for the result",
                code="needs_terminal",
            )
        if given is not None:
            unknown = await keep_labels(database, group, given, clock.now())
            if unknown:
                asked.output.line(
                    f"Not in the sample, and left out: {', '.join(unknown[:10])}{' …' if len(unknown) > 10 else ''}"
                )
        elif not asked.output.as_json:
            await _ask(database, group, asked)
        async with database.reading() as tx:
            return name, await read_labelled(tx, crawl, asked.judge, asked.said)


async def _ask(database: Database, group: Group, asked: _Asked) -> None:
    crawl = group.crawl
    async with database.reading() as tx:
        accounts = await read_drawn_accounts(tx, crawl, asked.judge, asked.said)
        labels = await read_labels(tx, crawl, asked.judge, asked.said)

    async def shown(account: JudgedAccount) -> Any:
        async with database.reading() as tx:
            return await read_latest(tx, account.number, asked.posts)

    async def kept(account: JudgedAccount, word: str) -> Share:
        async with database.transaction() as tx:
            await keep_label(tx, group, Label(account.number, asked.who, word), RealClock().now())
        async with database.reading() as tx:
            found = await read_labelled(tx, crawl, asked.judge, asked.said)
        return next(each.belongs for each in found.people if each.who == asked.who)

    mine = {number for number, said in labels.items() if asked.who in said}
    await labelling.ask(asked.output, accounts, mine, labelling.Asking(show=shown, keep=kept, key=labelling.pressed))

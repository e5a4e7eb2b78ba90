"""`bowerbird community`: describe communities, see who is a member and why, and correct decisions."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from bowerbird.cli.community import showing
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import CrawlOption, NamedStore, StoreArgument, find_store, one_crawl, opened_store, read_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.flows.language.spelling import meant
from bowerbird.model.subjects.community import NO, YES
from bowerbird.ports import Database, Transaction
from bowerbird.reports.community.people import Which, read_people
from bowerbird.reports.community.reading import read_community, read_why, share_of_mentioned
from bowerbird.reports.histories.find_account import Account, find_accounts

app = typer.Typer(add_completion=False, no_args_is_help=True)
_AT_ONCE = 200
_ACCOUNT = Annotated[str, typer.Argument(metavar="ACCOUNT", help="An id, a handle, or a key of a service.")]
_BY = Annotated[str, typer.Option("--by", metavar="NAME", help="Who decides, for the record.")]
_NOTE = Annotated[str, typer.Option("--note", help="Why, for the record.")]


@app.callback()
def _root() -> None:
    """Describe a community, see who is a member and why, and correct decisions."""


@app.command()
def new(
    country: Annotated[str, typer.Argument(metavar="COUNTRY", help="Two letters of ISO 3166, or its name: PT.")],
    outfile: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Default: pt.toml for PT; - for the screen.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write a description of the people of a country, to use or to edit."""
    from bowerbird.community.countries import code_of, description

    code = code_of(country)
    output, text = Output(as_json=as_json), description(code)
    file = outfile or Path(f"{code.lower()}.toml")
    if str(file) == "-":
        typer.echo(text, nl=False)
        return
    if file.exists():
        raise UserError(f"{file} exists.", "Name another file, or move it away.", code="already_exists")
    file.write_text(text, encoding="utf-8")
    output.line(f'Wrote {file}. In a crawl file: flow = "community", and under [community] file = "{file}".')
    output.result({"file": str(file), "country": code})


@app.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="A description.")], as_json: JsonFlag = False) -> None:
    """Check the description of a community."""
    from bowerbird.flows.files.community_file import read_community as read_file

    if not file.exists():
        raise UserError(
            f"File {str(file)!r} not found.",
            "Run `bowerbird community new PT` to write a description to start from.",
            code="file_not_found",
        )
    output, community = Output(as_json=as_json), read_file(file)
    output.line(f"{file} describes {community.name}. It is valid.")
    output.result({"file": str(file), **msgspec.to_builtins(community)})


@app.command()
def show(place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Count members, others and undecided accounts by what decided, and estimate how many members are missing."""
    output, found = Output(as_json=as_json), find_store(place)

    async def read() -> dict[str, Any]:
        async with read_store(found, RealClock()) as database, database.reading() as tx:
            counts = await read_community(tx, database)
        if any(counts.values.values()):
            showing.show_community(output, counts)
        else:
            output.line(f'{found.shown} has no decisions about accounts. Crawls with flow = "community" make them.')
        share = share_of_mentioned(counts.mentioned)
        return {"store": found.shown, **msgspec.to_builtins(counts), "belong_of_mentioned": share}

    output.result(asyncio.run(read()))


@app.command(name="list")
def list_(
    which: Annotated[str, typer.Argument(metavar="WHICH", help=f"{', '.join(Which)}.")],
    place: StoreArgument = None,
    crawl: CrawlOption = None,
    top: Annotated[int, typer.Option("--top", min=1, max=10_000, help="How many to show.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """List members, or accounts around them, with the strongest signs for and against membership."""
    if which not in list(Which):
        raise UserError(
            f"Unknown list {which!r}{meant(which, list(Which))}.", f"Use one of: {', '.join(Which)}.", code="unknown_name"
        )
    output, found, wanted = Output(as_json=as_json), find_store(place), Which(which)

    async def read() -> dict[str, Any]:
        async with read_store(found, RealClock()) as database:
            # Candidates belong to one crawl, decisions to the whole store.
            number = (await one_crawl(database, found, crawl))[0] if wanted.is_by_mentions else 0
            async with database.reading() as tx:
                people = (await read_people(tx, number, wanted, None, top)).lines
        showing.show_people(output, wanted, people, str(found.file or found.shown))
        return {"store": found.shown, "which": which, "people": msgspec.to_builtins(people)}

    output.result(asyncio.run(read()))


@app.command()
def why(who: _ACCOUNT, place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Show the decision about an account, its signs, the judged accounts around it, and earlier decisions."""
    output, found = Output(as_json=as_json), _store_of(who, place, "why")

    async def read() -> dict[str, Any]:
        async with read_store(found, RealClock()) as database, database.reading() as tx:
            account = await _account(tx, database, who, found)
            now, before, around = await read_why(tx, database, account.id, account.number)
        showing.show_why(output, account.handle or account.id, now, before, around)
        values = {"id": account.id, "handle": account.handle, "now": now, "before": before, "neighbours": around}
        return {name: msgspec.to_builtins(value) for name, value in values.items()}

    output.result(asyncio.run(read()))


@app.command()
def confirm(who: _ACCOUNT, place: StoreArgument = None, by: _BY = "user", note: _NOTE = "", as_json: JsonFlag = False) -> None:
    """Confirm the decision about an account: from now on it is yours."""
    _decide(who, _store_of(who, place, "confirm"), None, by, note, Output(as_json=as_json))


@app.command()
def overrule(
    who: _ACCOUNT,
    place: StoreArgument = None,
    value: Annotated[str, typer.Option("--as", metavar="VALUE", help="yes or no.")] = "",
    by: _BY = "user",
    note: _NOTE = "",
    as_json: JsonFlag = False,
) -> None:
    """Decide yourself whether an account is a member. The classifier keeps to it, and learns from it."""
    if value not in (YES, NO):
        raise UserError(f"Invalid decision {value!r}{meant(value, (YES, NO))}.", "Use --as yes or --as no.")
    _decide(who, _store_of(who, place, "overrule"), value, by, note, Output(as_json=as_json))


@app.command()
def free(who: _ACCOUNT, place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Remove a person's decision. The classifier decides with the next page about the account, or with `rejudge`."""
    from bowerbird.community.decisions import remove_decision

    output, found, clock = Output(as_json=as_json), _store_of(who, place, "free"), RealClock()

    async def write() -> dict[str, Any]:
        async with opened_store(found, clock) as database, database.transaction() as tx:
            account = await _account(tx, database, who, found)
            is_removed = await remove_decision(tx, account.id, clock.now())
        done = "the decision is removed. The classifier will decide." if is_removed else "no person decided; nothing changed."
        output.line(f"{account.handle or account.id}: {done}")
        return {"id": account.id, "taken_back": is_removed}

    output.result(asyncio.run(write()))


@app.command()
def rejudge(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A crawl file with a [community].")],
    as_json: JsonFlag = False,
) -> None:
    """Decide again about all stored accounts, after a change of the description. Earlier decisions stay in the history; people's
    decisions stay valid."""
    from bowerbird.cli.store_addresses import read_plan
    from bowerbird.community.classifier import CommunityClassifier
    from bowerbird.community.review import decide_again, next_accounts, read_accounts
    from bowerbird.settings import load_settings

    output, found, clock = Output(as_json=as_json), find_store(str(file)), RealClock()
    community = read_plan(file, may_lack_seeds=True).community
    if community is None:
        raise UserError(f"{file} has no [community].", 'Add one with file = "pt.toml".')
    classifier = CommunityClassifier(community, load_settings().cache_folder)

    async def judge() -> dict[str, Any]:
        looked = 0
        changes: Counter[str] = Counter()
        async with opened_store(found, clock) as database:
            after = 0
            while True:
                # A transaction for some of them: a crawl that runs meanwhile waits for no more than that.
                async with database.transaction() as tx:
                    users = await next_accounts(tx, after, _AT_ONCE)
                    accounts = await read_accounts(tx, database, users, with_posts=True)
                    decisions = await decide_again(tx, database, classifier, accounts, clock.now())
                for account, new in decisions:
                    if account.value != new.value:
                        changes[f"{account.value or 'unknown'} to {new.value}"] += 1
                looked += len(users)
                if len(users) < _AT_ONCE:
                    break
                after = users[-1]
                output.progress(f"{looked:,} accounts")
        return {"accounts": looked, "changed": changes}

    figures = asyncio.run(judge())
    output.line(f"{figures['accounts']:,} accounts decided again; {sum(figures['changed'].values()):,} decisions changed.")
    output.table("", ("what changed", "accounts"), Counter(figures["changed"]).most_common())
    output.result(figures)


def _store_of(who: str, place: str | None, action: str) -> NamedStore:
    if place is None and Path(who).is_file():
        raise UserError(f"Name an account: bowerbird community {action} @handle {who}", code="needs_option")
    return find_store(place)


def _decide(who: str, found: NamedStore, value: str | None, by: str, note: str, output: Output) -> None:
    """Save a person's decision; without a value, the one that is there."""
    from bowerbird.community.decisions import save_decision

    if not by.strip():
        raise UserError("Invalid --by ''.", "Give the name of who decides.")
    clock = RealClock()

    async def write() -> dict[str, Any]:
        async with opened_store(found, clock) as database, database.transaction() as tx:
            account = await _account(tx, database, who, found)
            now, _, _ = await read_why(tx, database, account.id, account.number)
            decision = value or (now[0].value if now else None)
            if decision not in (YES, NO):
                raise UserError(
                    f"There is no decision about {who} to confirm: it is {decision or 'not judged yet'}.",
                    f"Decide with: bowerbird community overrule {who} --as yes",
                )
            before = await save_decision(tx, account.id, decision, by, note, clock.now())
        was = f" Before: {before}." if before not in (None, decision) else ""
        output.line(f"{account.handle or account.id}: {decision}, decided by {by}.{was}")
        return {"id": account.id, "value": decision, "was": before, "by": by}

    output.result(asyncio.run(write()))


async def _account(tx: Transaction, database: Database, who: str, place: NamedStore) -> Account:
    accounts = await find_accounts(database, tx, who)
    if len(accounts) == 1:
        return accounts[0]
    if accounts:
        raise UserError(
            f"{who!r} may mean {', '.join(each.id for each in accounts)}.", "Give one of these ids.", code="ambiguous"
        )
    raise UserError(f"{place.shown} has no account {who!r}.", "Give an id or a handle.", code="unknown_account")

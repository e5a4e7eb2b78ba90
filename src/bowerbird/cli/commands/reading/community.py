"""`bowerbird community`: describes communities, says who belongs and why, and hears what people say about that."""

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
_ACCOUNT = Annotated[str, typer.Argument(metavar="ACCOUNT", help="An id, a handle, or a service's own key.")]
_BY = Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so, for the record.")]
_NOTE = Annotated[str, typer.Option("--note", help="Why, for the record.")]


@app.callback()
def _root() -> None:
    """Describe a community, see who belongs to it and why, and say what you know better."""


@app.command()
def new(
    country: Annotated[str, typer.Argument(metavar="COUNTRY", help="Two letters of ISO 3166, or its name: PT.")],
    outfile: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Default: pt.toml for PT; - for the screen.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the description of a country's people, ready to use and to be changed."""
    from bowerbird.community.countries import code_of, description

    code = code_of(country)
    output, text = Output(as_json=as_json), description(code)
    file = outfile or Path(f"{code.lower()}.toml")
    if str(file) == "-":
        typer.echo(text, nl=False)
        return
    if file.exists():
        raise UserError(f"{file} is there already: name another file, or move it away")
    file.write_text(text, encoding="utf-8")
    output.line(f'Wrote {file}. In a crawl file: flow = "community", and under [community] file = "{file}".')
    output.result({"file": str(file), "country": code})


@app.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="A description.")], as_json: JsonFlag = False) -> None:
    """Say whether a description can be used."""
    from bowerbird.flows.files.community_file import read_community as read_file

    if not file.exists():
        raise UserError(f"there is no file {file}; `bowerbird community new PT` writes a description to start from")
    output, community = Output(as_json=as_json), read_file(file)
    output.line(f"{file} describes {community.name}: it can be used.")
    output.result({"file": str(file), **msgspec.to_builtins(community)})


@app.command()
def show(place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Say how many belong, do not belong and are undecided, by what decided, and how many may be missed."""
    output, found = Output(as_json=as_json), find_store(place)

    async def read() -> dict[str, Any]:
        async with read_store(found, RealClock()) as database, database.reading() as tx:
            counts = await read_community(tx, database)
        if any(counts.values.values()):
            showing.show_community(output, counts)
        else:
            output.line(f'Nobody in {found.shown} is judged yet; crawls with flow = "community" do that.')
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
    """List people of a community, and those around it, each with what speaks for and against it."""
    if which not in list(Which):
        raise UserError(f"there is no list {which!r}{meant(which, list(Which))}; there are: {', '.join(Which)}")
    output, found, wanted = Output(as_json=as_json), find_store(place), Which(which)

    async def read() -> dict[str, Any]:
        async with read_store(found, RealClock()) as database:
            # Only candidates belong to a crawl: judgements are of the whole store.
            number = (await one_crawl(database, found, crawl))[0] if wanted.is_by_mentions else 0
            async with database.reading() as tx:
                people = (await read_people(tx, number, wanted, None, top)).lines
        showing.show_people(output, wanted, people, str(found.file or found.shown))
        return {"store": found.shown, "which": which, "people": msgspec.to_builtins(people)}

    output.result(asyncio.run(read()))


@app.command()
def why(who: _ACCOUNT, place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Say what is said of an account, what speaks for and against it, who is around it, and what was said before."""
    output, found = Output(as_json=as_json), _store_of(who, place, "why")

    async def read() -> dict[str, Any]:
        async with read_store(found, RealClock()) as database, database.reading() as tx:
            account = await _account(tx, database, who, found)
            now, before, around = await read_why(tx, database, account.id, account.number)
        showing.show_why(output, account.handle or account.id, now, before, around)
        told = {"now": now, "before": before, "neighbours": around}
        return {"id": account.id, "handle": account.handle, **msgspec.to_builtins(told)}

    output.result(asyncio.run(read()))


@app.command()
def confirm(who: _ACCOUNT, place: StoreArgument = None, by: _BY = "user", note: _NOTE = "", as_json: JsonFlag = False) -> None:
    """Say that what is said of an account is right: from now on it is a person's word."""
    Output(as_json=as_json).result(
        asyncio.run(_say(who, _store_of(who, place, "confirm"), None, by, note, Output(as_json=as_json)))
    )


@app.command()
def overrule(
    who: _ACCOUNT,
    place: StoreArgument = None,
    value: Annotated[str, typer.Option("--as", metavar="VALUE", help="yes or no.")] = "",
    by: _BY = "user",
    note: _NOTE = "",
    as_json: JsonFlag = False,
) -> None:
    """Say yourself whether an account belongs; it stands above what the judge says, and teaches how neighbours count."""
    if value not in (YES, NO):
        raise UserError(f"say what is right with --as yes or --as no{meant(value, (YES, NO)) if value else ''}")
    Output(as_json=as_json).result(
        asyncio.run(_say(who, _store_of(who, place, "overrule"), value, by, note, Output(as_json=as_json)))
    )


@app.command()
def free(who: _ACCOUNT, place: StoreArgument = None, as_json: JsonFlag = False) -> None:
    """Take back what a person said of an account: the judge decides again, with the next look or `rejudge`."""
    from bowerbird.community.decisions import remove_decision

    output, found, clock = Output(as_json=as_json), _store_of(who, place, "free"), RealClock()

    async def write() -> dict[str, Any]:
        async with opened_store(found, clock) as database, database.transaction() as tx:
            account = await _account(tx, database, who, found)
            was_said = await remove_decision(tx, account.id, clock.now())
        done = "is for the judge to decide again." if was_said else "was decided by no person; nothing is changed."
        output.line(f"{account.handle or account.id} {done}")
        return {"id": account.id, "taken_back": was_said}

    output.result(asyncio.run(write()))


@app.command()
def rejudge(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The crawl file: its [community] is what is judged by.")],
    as_json: JsonFlag = False,
) -> None:
    """Judge everybody in the store anew: after a change of the description, or with a newer bowerbird. What was said before stays
    in the history, and whom a person judged is left alone."""
    from bowerbird.cli.store_addresses import read_plan
    from bowerbird.community.classifier import CommunityClassifier
    from bowerbird.community.review import Reviewer
    from bowerbird.settings import load_settings

    output, found, clock = Output(as_json=as_json), find_store(str(file)), RealClock()
    community = read_plan(file, may_lack_seeds=True).community
    if community is None:
        raise UserError(f'{file} is about no community; add [community] with file = "pt.toml"')
    classifier = CommunityClassifier(community, load_settings().cache_folder)

    async def judge() -> dict[str, Any]:
        looked = 0
        changes: Counter[str] = Counter()
        async with opened_store(found, clock) as database:
            reviewer, after = Reviewer(database, classifier), 0
            while True:
                # A transaction for some of them: a crawl that runs meanwhile waits for no more than that.
                async with database.transaction() as tx:
                    users = await reviewer.all_accounts(tx, after, _AT_ONCE)
                    changed = await reviewer.judge_again(tx, users, clock.now())
                for each in changed:
                    changes[f"{each.before or 'unknown'} to {each.value}"] += 1
                looked += len(users)
                if len(users) < _AT_ONCE:
                    break
                after = users[-1]
                output.progress(f"{looked:,} accounts")
        return {"accounts": looked, "changed": changes}

    figures = asyncio.run(judge())
    output.line(f"{figures['accounts']:,} accounts judged anew; {sum(figures['changed'].values()):,} are judged otherwise now.")
    output.table("", ("what changed", "accounts"), Counter(figures["changed"]).most_common())
    output.result(figures)


def _store_of(who: str, place: str | None, action: str) -> NamedStore:
    if place is None and Path(who).is_file():
        raise UserError(f"say who is meant: bowerbird community {action} @handle {who}")
    return find_store(place)


async def _say(who: str, found: NamedStore, value: str | None, by: str, note: str, output: Output) -> dict[str, Any]:
    from bowerbird.community.decisions import save_decision

    clock = RealClock()
    async with opened_store(found, clock) as database, database.transaction() as tx:
        account = await _account(tx, database, who, found)
        now, _, _ = await read_why(tx, database, account.id, account.number)
        told = value or (now[0].value if now else None)
        if told not in (YES, NO):
            raise UserError(
                f"{who} is {told or 'not judged yet'}: there is nothing to confirm. Say what is right: "
                f"bowerbird community overrule {who} --as yes"
            )
        was = await save_decision(tx, account.id, told, by, note, clock.now())
    output.line(f"{account.handle or account.id}: {told}, says {by}" + (f" (it was {was})." if was != told else "."))
    return {"id": account.id, "value": told, "was": was, "by": by}


async def _account(tx: Transaction, database: Database, who: str, place: NamedStore) -> Account:
    accounts = await find_accounts(database, tx, who)
    if not accounts:
        raise UserError(f"{place.shown} knows no account {who!r}; give an id or a handle")
    if len(accounts) > 1:
        raise UserError(f"{who!r} may mean {', '.join(each.id for each in accounts)}: write one of these")
    return accounts[0]

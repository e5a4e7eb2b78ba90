"""`bowerbird people`: who may use the dashboard, and what each may do there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bowerbird.cli.fleet.token_commands import StoreOption
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.cli.which import find_store, opened_store
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.ports import Transaction
from bowerbird.transport.serving import needed_for_web

# Before what needs it, so that the words are ours where it is missing.
needed_for_web("starlette")

from bowerbird.web.security import actions  # noqa: E402
from bowerbird.web.security import people as rows  # noqa: E402
from bowerbird.web.security.passwords import LONGEST, Passwords, checked  # noqa: E402
from bowerbird.web.security.roles import Role  # noqa: E402

T = TypeVar("T")
app = typer.Typer(add_completion=False, no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What they are called; capital letters make no difference.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option("--password-file", metavar="FILE", help="Read the password from the first line of a file; - is standard input."),
]
_HERE = "terminal"
"""Who acts, in the record of actions: whoever can write to the database."""
_ROLES = "|".join(role.word for role in Role)


@app.callback()
def _root() -> None:
    """Say who may use the dashboard of a store: read, steer its crawls, or (admin) change people too."""


@app.command()
def add(
    name: NameArgument,
    role: Annotated[
        str | None,
        typer.Option("--role", metavar=_ROLES, help="What they may do.", show_default="admin for the first person, then read"),
    ] = None,
    password_file: PasswordFile = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Let somebody log in to the dashboard. The password is asked for twice, or read from a file; never from the command line."""
    clock, output = RealClock(), Output(as_json=as_json)
    wanted = None if role is None else Role.called(role)
    hash_ = _hashed(_password(name, password_file), clock)

    async def work(tx: Transaction) -> Role:
        given = wanted or (Role.READ if await rows.is_anybody_there(tx) else Role.ADMIN)
        await rows.add(tx, name, hash_, given, clock.now())
        return given

    given = _done(store, work, "add person", name)
    output.line(f"{rows.written(name)} may log in, with the role {given.word}.")
    output.result({"name": rows.written(name), "role": given.word})


@app.command("list")
def list_(store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Show who may log in, with which role, and when each last did."""
    output = Output(as_json=as_json)
    found = _done(store, rows.listed)
    told = [
        {
            "name": each.name,
            "role": each.role.word,
            "added": each.created_at,
            "last seen": each.seen_at,
            "password": each.changed_at,
        }
        for each in found
    ]
    output.table(
        "", ("name", "role", "added", "last login", "password set"), [[_time(each) for each in row.values()] for row in told]
    )
    if not told:
        output.line(
            "Nobody has a password: the dashboard is for this machine alone. Add yourself with: bowerbird people add NAME"
        )
    output.result({"people": told})


@app.command()
def role(
    name: NameArgument,
    role: Annotated[str, typer.Argument(metavar=_ROLES, help="What they may do from now on.")],
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Change what somebody may do; they have to log in again."""
    output, wanted = Output(as_json=as_json), Role.called(role)
    _done(store, lambda tx: rows.change_role(tx, name, wanted), f"give the role {wanted.word}", name)
    output.line(f"{rows.written(name)} has the role {wanted.word} now, and has to log in again.")
    output.result({"name": rows.written(name), "role": wanted.word})


@app.command()
def password(
    name: NameArgument, password_file: PasswordFile = None, store: StoreOption = None, as_json: JsonFlag = False
) -> None:
    """Set a new password for somebody; they are logged out everywhere."""
    clock, output = RealClock(), Output(as_json=as_json)
    hash_ = _hashed(_password(name, password_file), clock)
    _done(store, lambda tx: rows.set_password(tx, name, hash_, clock.now()), "set password", name)
    output.line(f"{rows.written(name)} has a new password, and has to log in again.")
    output.result({"name": rows.written(name)})


@app.command()
def remove(name: NameArgument, store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Take somebody's login away; what they did stays in the record of actions."""
    output = Output(as_json=as_json)
    _done(store, lambda tx: rows.remove(tx, name), "remove person", name)
    output.line(f"{rows.written(name)} can no longer log in.")
    output.result({"removed": rows.written(name)})


def _password(name: str, file: Path | None) -> str:
    if file is not None:
        return checked(_first_line(file), name)
    if not sys.stdin.isatty():
        raise UserError(
            "no password was given",
            "run this in a terminal to be asked, or give --password-file FILE (- is standard input)",
            code="needs_password",
        )
    return checked(
        str(
            typer.prompt(
                f"Password of {rows.written(name)} (not shown)", hide_input=True, confirmation_prompt="Once more", err=True
            )
        ),
        name,
    )


def _first_line(file: Path) -> str:
    try:
        if str(file) == "-":
            line = sys.stdin.readline(LONGEST + 2)
        else:
            with file.open(encoding="utf-8") as opened:
                line = opened.readline(LONGEST + 2)
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"cannot read the password from {file}: {problem}", code="credential_unreadable") from None
    return line.rstrip("\r\n")


def _hashed(password: str, clock: RealClock) -> str:
    async def main() -> str:
        passwords = Passwords(clock)
        try:
            return await passwords.hash(password)
        finally:
            passwords.close()

    return asyncio.run(main())


def _done(store: str | None, work: Callable[[Transaction], Awaitable[T]], what: str = "", subject: str = "") -> T:
    """Does it in one transaction, and records `what` was done to whom."""
    clock = RealClock()

    async def main() -> T:
        async with opened_store(find_store(store), clock) as database, database.transaction() as tx:
            result = await work(tx)
            if what:
                await actions.note(tx, (_HERE, ""), (what, rows.written(subject)), (actions.DONE, ""), clock.now())
            return result

    return asyncio.run(main())


def _time(value: object) -> object:
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "year") else value

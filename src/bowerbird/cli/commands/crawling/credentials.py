"""`bowerbird credentials`: keep the keys to the networks in an encrypted vault."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from bowerbird.cli.keys.registration import register
from bowerbird.cli.keys.secrets import read_secret
from bowerbird.cli.screens.output import JsonFlag, Output
from bowerbird.crawl.access.how_to_add import add_line
from bowerbird.crawl.access.ownership import unbound
from bowerbird.errors import CredentialError
from bowerbird.limits.credentials import (
    DATABASE,
    MESSAGE,
    PROVIDERS,
    address_entry,
    crawl_file_line,
    credential_servers,
    required_fields,
    server_address,
)
from bowerbird.limits.vault import FileVault
from bowerbird.model import TRAITS, Credential, Secret
from bowerbird.model.networks import FIRST
from bowerbird.settings import Settings, load_settings

app = typer.Typer(help="Keep the keys to the networks in an encrypted vault.", no_args_is_help=True)

VaultOption = Annotated[Path | None, typer.Option("--vault", metavar="FILE", help="The vault file; also BOWERBIRD_VAULT.")]
ServerOption = Annotated[
    list[str] | None,
    typer.Option("--server", metavar="URL", help="The server it belongs to, and again for each host that its streams come from."),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What crawl files call this credential.")]


_EXAMPLE = add_line(FIRST, "user", TRAITS[FIRST].base, "mine")


def open_vault(settings: Settings) -> FileVault:
    """The vault in force; asks for its password in a terminal if it needs one."""
    return FileVault(settings.vault, settings.vault_password, ask=_ask_password if sys.stdin.isatty() else None)


def _ask_password() -> str:
    return str(typer.prompt("Password of the vault (not shown)", hide_input=True, err=True))


@app.command()
def add(
    name: NameArgument,
    provider: Annotated[str, typer.Option("--provider", metavar="|".join(PROVIDERS), help="Whose API it opens.")],
    kind: Annotated[
        str | None,
        typer.Option("--kind", metavar="user|app", help="Services keep separate limits for the two.", show_default="user"),
    ] = None,
    account: Annotated[
        str, typer.Option("--account", help="The account it belongs to: credentials of one account share limits.")
    ] = "",
    application: Annotated[
        str, typer.Option("--app", help="The application it belongs to: some limits are per application.")
    ] = "",
    from_stdin: Annotated[
        bool, typer.Option("--stdin", help="Read the secret from standard input: field=value lines or JSON.")
    ] = False,
    server: ServerOption = None,
    register_at: Annotated[
        str | None,
        typer.Option("--register", metavar="SERVER", help="Mastodon: no token yet; register bowerbird there and get one."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a credential of the same name.")] = False,
    is_tried: Annotated[
        bool | None,
        typer.Option(
            "--try/--no-try", help="Ask its server whether it takes it, where that costs nothing.", show_default="in a terminal"
        ),
    ] = None,
    vault: VaultOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Add a credential. Its secret is asked for, or comes from BOWERBIRD_SECRET_<FIELD> or --stdin; never from the command line.

    mastodon needs access_token, which --register gets for you; bluesky identifier and app_password; weibo access_token; x and
    twitter_v1 bearer_token (kind app), or consumer_key, consumer_secret, access_token and access_token_secret (kind user).

    A database is added with --provider postgresql and address (postgresql://user:password@host/database): a crawl file or a
    command then names it as vault:NAME, and its password is in no file but the vault.

    A webhook (https://…) or a mail server (smtp://user:password@host:587, smtps://…) for messages is added with --provider
    message and address.

    It is sent to no server but its own: on mastodon and bluesky name it with --server; the others have one API for all.
    """
    settings, output = load_settings(vault=vault), Output(as_json=as_json)
    opened = open_vault(settings)
    # A new secret is what replacing is for: whose it is, and where it belongs, stays as it was unless it is said anew.
    before = _before(opened, name, provider) if replace else None
    kind = kind or (before.kind if before else "user")
    if before is not None:
        account, application = account or before.account, application or before.app
    required_fields(provider, kind)
    if provider in (DATABASE, MESSAGE):
        values = read_secret(provider, kind, from_stdin=from_stdin)
        entry = address_entry(provider, name, values)
        _add_entry(opened, entry, values, output, replace=replace)
        return
    said = [*(server or ()), *([register_at] if register_at else ())]
    servers = credential_servers(provider, said or (before.servers if before else ()))
    if register_at is not None:
        _check_registration(provider, opened, name, replace=replace)
        fresh = register(server_address(register_at, "--register"), kind, settings, output, from_stdin=from_stdin)
        values, account = {"access_token": fresh.access_token}, account or fresh.account
    else:
        values = read_secret(provider, kind, from_stdin=from_stdin)
    is_known = any(each.name == name for each in opened.credentials())
    credential = Credential(name=name, provider=provider, kind=kind, account=account or name, app=application, servers=servers)
    opened.add(credential, Secret(name=name, values=values), replace=replace)
    done = f"Replaced {name} in" if is_known else f"Added {name} to"
    output.line(f"{done} {opened.path} ({_seal(opened)}). It is sent to {_places(credential)} only.")
    told = _tried(credential, opened, settings) if (sys.stdin.isatty() if is_tried is None else is_tried) else ""
    if told:
        output.line(told)
    seal = {"vault": opened.path, "has_password": opened.has_password}
    output.result({"added": name, **seal, "servers": credential.home, "tried": told or None})


def _tried(credential: Credential, vault: FileVault, settings: Settings) -> str:
    # Loaded when it is needed: it brings the networks along.
    from bowerbird.starting.trying import told_of

    return asyncio.run(told_of(credential, vault, settings)).words


def _add_entry(vault: FileVault, entry: Credential, values: dict[str, str], output: Output, *, replace: bool) -> None:
    vault.add(entry, Secret(name=entry.name, values=values), replace=replace)
    output.line(f"Added {entry.name} to {vault.path} ({_seal(vault)}). {crawl_file_line(entry)}")
    output.result({"added": entry.name, "vault": vault.path, "has_password": vault.has_password, "servers": entry.servers})


@app.command()
def bind(name: NameArgument, server: ServerOption = None, vault: VaultOption = None, as_json: JsonFlag = False) -> None:
    """Say which server a credential belongs to: it is sent to no other. What was said before no longer counts."""
    output, opened = Output(as_json=as_json), open_vault(load_settings(vault=vault))
    provider = opened.credential(name).provider
    if not server:
        raise CredentialError(
            "say to which server it belongs, with --server and the address of the one that gave it out", code="needs_option"
        )
    bound = opened.bind(name, credential_servers(provider, server))
    output.line(f"{name} is now sent to {_places(bound)} only.")
    output.result({"bound": name, "servers": bound.home, "vault": opened.path})


def _before(vault: FileVault, name: str, provider: str) -> Credential | None:
    """The credential that is replaced."""
    return next((each for each in vault.credentials() if each.name == name and each.provider == provider), None)


def _places(credential: Credential) -> str:
    return " and ".join(credential.home) or "nobody"


def _check_registration(provider: str, vault: FileVault, name: str, *, replace: bool) -> None:
    """Refuses before a server has been asked what the vault would refuse afterwards: the fresh token would be lost."""
    if provider not in TRAITS or not TRAITS[provider].can_register:
        able = ", ".join(each.provider for each in TRAITS.values() if each.can_register)
        raise CredentialError(f"--register is for {able} only: {provider} gives out keys on its own pages", code="unsupported")
    vault.check_name(name, replace=replace)


@app.command("list")
def list_(vault: VaultOption = None, as_json: JsonFlag = False) -> None:
    """Show the credentials by name; never their secrets."""
    output, opened = Output(as_json=as_json), open_vault(load_settings(vault=vault))
    credentials = opened.credentials()
    if not credentials:
        output.line(f"No credentials in {opened.path}. Add one with: {_EXAMPLE}")
    else:
        rows = [(one.name, one.provider, one.kind, one.account, one.app, _places(one)) for one in credentials]
        output.table(f"{opened.path} ({_seal(opened)})", ("name", "provider", "kind", "account", "app", "is sent to"), rows)
    for one in credentials:
        if not one.home:
            output.line(str(unbound(one)))
    fields = ("name", "provider", "kind", "account", "app")
    output.result(
        {
            "vault": opened.path,
            "has_password": opened.has_password,
            "credentials": [{name: getattr(one, name) for name in fields} | {"servers": list(one.home)} for one in credentials],
        }
    )


@app.command()
def remove(name: NameArgument, vault: VaultOption = None, as_json: JsonFlag = False) -> None:
    """Remove a credential and its secret."""
    output, opened = Output(as_json=as_json), open_vault(load_settings(vault=vault))
    opened.remove(name)
    output.line(f"Removed {name} from {opened.path}. If the secret may have leaked, revoke it at the service too.")
    output.result({"removed": name, "vault": opened.path})


@app.command()
def password(
    none: Annotated[bool, typer.Option("--none", help="No password: a key file beside the vault opens it.")] = False,
    vault: VaultOption = None,
) -> None:
    """Set or change the vault's password (asked for twice), or do without one."""
    opened = open_vault(load_settings(vault=vault))
    opened.credentials()
    if not none and not sys.stdin.isatty():
        raise CredentialError(
            "a new password is typed in a terminal",
            "run this in one, or use --none for a key file instead of a password",
            code="needs_password",
        )
    new = None if none else str(typer.prompt("New password (not shown)", hide_input=True, confirmation_prompt=True, err=True))
    opened.reseal(new)
    Output().line(f"{opened.path} is now sealed: {_seal(opened)}.")


def _seal(vault: FileVault) -> str:
    if vault.has_password is None:
        return "not there yet"
    return "opened by a password" if vault.has_password else f"opened by the key file {vault.key_path.name}: keep it private"

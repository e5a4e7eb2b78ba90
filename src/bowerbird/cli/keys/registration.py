"""Gets a token from a Mastodon server with the user's help: registers the application, shows where to agree, takes the code."""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import urlsplit

import typer
from msgspec import Struct

from bowerbird.cli.screens.output import Output
from bowerbird.errors import CredentialError
from bowerbird.model import Answer, Request, Service
from bowerbird.settings import Settings

_LONGEST_CODE = 1000


class Registered(Struct, frozen=True):
    """A fresh token, and the account it stands for where it stands for one."""

    access_token: str
    account: str


def register(base: str, kind: str, settings: Settings, output: Output, *, from_stdin: bool) -> Registered:
    """The token of the kind asked for; nothing secret is shown on the way."""
    if kind == "user" and not from_stdin and not sys.stdin.isatty():
        raise CredentialError(
            "--register shows an address and then takes the code that it gives",
            "run it in a terminal, write the code to standard input (--stdin), or use --kind app, which needs no code",
            code="needs_terminal",
        )
    return asyncio.run(_register(base, kind, settings, output, from_stdin=from_stdin))


async def _register(base: str, kind: str, settings: Settings, output: Output, *, from_stdin: bool) -> Registered:
    # Imported here: `credentials --help` should not load the transport.
    from bowerbird.clock import RealClock
    from bowerbird.providers.mastodon import registration
    from bowerbird.transport import HttpTransport

    transport = HttpTransport(RealClock(), settings.user_agent)
    service = Service(name="server", provider=registration.PROVIDER, base=base)

    async def send(request: Request) -> Answer:
        return await transport.send(service, request)

    try:
        application = registration.registered(await send(registration.register(settings.contact)))
        code = None
        if kind == "user":
            output.progress("Open this address, log in and agree; the server then shows a code:")
            output.progress(f"\n  {registration.authorisation_address(base, application)}\n")
            code = _code(from_stdin=from_stdin)
        answer = await send(registration.exchange(application, code))
        token = registration.token(answer, application.client_secret, *([code] if code else []))
        name = registration.account(await send(registration.whose(token))) if kind == "user" else None
    finally:
        await transport.close()
    return Registered(token, _full_name(name, base) if name else "")


def _code(*, from_stdin: bool) -> str:
    text = sys.stdin.readline(_LONGEST_CODE) if from_stdin else typer.prompt("Code (not shown)", hide_input=True, err=True)
    code = str(text).strip()
    if not code or not code.isascii() or not code.isprintable() or " " in code:
        raise CredentialError("the code must be a single word, as the server shows it", "run the command again and copy it whole")
    return code


def _full_name(name: str, base: str) -> str:
    return name if "@" in name else f"{name}@{urlsplit(base).netloc}"

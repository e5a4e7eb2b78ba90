"""Keys to networks and addresses of databases: added, tried, renewed and retired. A secret comes in and never goes out."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from bowerbird.crawl.access.how_to_add import login_at
from bowerbird.db import open_database
from bowerbird.db.tables import SCHEMA_VERSION, is_store
from bowerbird.errors import BowerbirdError, CredentialError, StoreError, UserError
from bowerbird.limits.credentials import (
    ADDRESS,
    DATABASE,
    FIELDS,
    KINDS,
    MESSAGE,
    PROVIDERS,
    address_entry,
    complete_secret,
    crawl_file_line,
    credential_servers,
    required_fields,
)
from bowerbird.model import TRAITS, Credential, Secret
from bowerbird.model.networks import FIRST
from bowerbird.starting.trying import told_of
from bowerbird.web.pages.steering.desk import Desk, Said, text
from bowerbird.web.security import Form, Role

_SECRET = 4_000
_TONES = {True: "good", False: "bad", None: ""}


def routes(desk: Desk) -> list[BaseRoute]:
    site = desk.site

    async def page(request: Request) -> Response:
        provider, kind = _chosen(request)
        try:
            known, problem = list(desk.vault.credentials()), None
        except CredentialError as error:
            known, problem = [], error.failure
        wanted = request.query_params.get("replace")
        renewed = next((each for each in known if each.name == wanted and each.provider in PROVIDERS), None)
        return desk.page(
            request, "credentials.html", "Credentials", problem=problem, vault=str(desk.vault.path), provider=provider, kind=kind,
            keys=[each for each in known if each.provider not in (DATABASE, MESSAGE)], providers=sorted(TRAITS),
            databases=[each for each in known if each.provider == DATABASE], fields=FIELDS[provider, kind][0],
            others=[each for each in known if each.provider == MESSAGE], kinds=KINDS, server=_server(provider),
            known_providers=PROVIDERS, renewed=renewed,
            renewed_fields=FIELDS[renewed.provider, renewed.kind][0] if renewed else (),
            has_kinds=provider in TRAITS and all(FIELDS.get((provider, each)) for each in KINDS),
        )  # fmt: skip

    async def add(request: Request, form: Form) -> Response:
        name = text(form, "name", 64)

        async def do() -> str:
            return await asyncio.to_thread(_added, desk, form, name)

        return desk.back("/steering/credentials", await site.act(request, "add credential", name, do))

    async def add_database(request: Request, form: Form) -> Response:
        name = text(form, "name", 64)

        async def do() -> str:
            values = {ADDRESS: _address(form)}
            entry = address_entry(DATABASE, name, values)
            await asyncio.to_thread(desk.vault.add, entry, Secret(name=name, values=values))
            return f"{name} is in the vault, with its password. {crawl_file_line(entry)}"

        return desk.back("/steering/credentials", await site.act(request, "add database", name, do))

    async def replace(request: Request, form: Form) -> Response:
        name = text(form, "name", 64)

        async def do() -> str:
            return await asyncio.to_thread(_replaced, desk, form, name)

        return desk.back("/steering/credentials", await site.act(request, "replace secret", name, do))

    async def test(request: Request, form: Form) -> Response:
        name = text(form, "name", 64)
        credential = desk.vault.credential(name)

        async def do() -> Said:
            if credential.provider == DATABASE:
                return await _tried_database(desk, credential)
            if credential.provider == MESSAGE:
                return Said(f"{name} is tried when a message is sent.")
            told = await told_of(credential, desk.vault, desk.settings)
            if not told.words:
                return Said(f"{name} cannot be tried for nothing: its network charges for every call.")
            here = " Or replace it here." if told.is_taken is False else ""
            return Said(f"{name}: {told.words}{here}", _TONES[told.is_taken])

        return desk.back("/steering/credentials", await site.act(request, "test credential", name, do))

    async def retire(request: Request, form: Form) -> Response:
        name = text(form, "name", 64)

        async def do() -> None:
            await asyncio.to_thread(desk.vault.remove, name)

        await site.act(request, "retire credential", name, do)
        said = f"{name} is no longer in the vault. If its secret may have leaked, revoke it at the service too."
        return desk.back("/steering/credentials", said)

    return [
        Route("/steering/credentials", site.showing(Role.STEER, page)),
        Route("/steering/credentials/add", site.acting(Role.ADMIN, add), methods=["POST"]),
        Route("/steering/credentials/database", site.acting(Role.ADMIN, add_database), methods=["POST"]),
        Route("/steering/credentials/replace", site.acting(Role.ADMIN, replace), methods=["POST"]),
        Route("/steering/credentials/test", site.acting(Role.ADMIN, test), methods=["POST"]),
        Route("/steering/credentials/retire", site.acting(Role.ADMIN, retire), methods=["POST"]),
    ]


def _chosen(request: Request) -> tuple[str, str]:
    """The provider and kind whose fields the form asks for."""
    provider, kind = request.query_params.get("provider", ""), request.query_params.get("kind", "")
    provider = provider if provider in TRAITS else FIRST
    return provider, kind if (provider, kind) in FIELDS else "user"


def _server(provider: str) -> str:
    traits = TRAITS.get(provider)
    return login_at(provider, traits.base) if traits and not traits.servers else ""


def _added(desk: Desk, form: Form, name: str) -> str:
    provider, kind = text(form, "provider"), text(form, "kind") or "user"
    values = _values(form, provider, kind)
    if provider == MESSAGE:
        entry = address_entry(MESSAGE, name, values)
        desk.vault.add(entry, Secret(name=name, values=values))
        return f"{name} is in the vault. {crawl_file_line(entry)}"
    servers = credential_servers(provider, [server] if (server := text(form, "server")) else ())
    account = text(form, "account") or name
    credential = Credential(name=name, provider=provider, kind=kind, account=account, app=text(form, "app"), servers=servers)
    desk.vault.add(credential, Secret(name=name, values=values))
    return f"{name} is in the vault. It is sent to {' and '.join(credential.home) or 'nobody'} only; test it once."


def _replaced(desk: Desk, form: Form, name: str) -> str:
    """A new secret is what replacing is for: whose it is, and where it belongs, stays as it was."""
    before = desk.vault.credential(name)
    required_fields(before.provider, before.kind)
    values = {ADDRESS: _address(form)} if before.provider == DATABASE else _values(form, before.provider, before.kind)
    entry = before
    if before.provider in (DATABASE, MESSAGE):
        entry = address_entry(before.provider, name, values)
    desk.vault.add(entry, Secret(name=name, values=values), replace=True)
    return f"{name} has its new secret; the old one is no longer in the vault. Test it once."


def _values(form: Form, provider: str, kind: str) -> dict[str, str]:
    """The secret that a form holds, checked; raises where a field is missing, or all of them are of the other kind."""
    given = {field: text(form, f"secret_{field}", _SECRET) for choice in required_fields(provider, kind) for field in choice}
    return complete_secret(given, provider, kind)


def _address(form: Form) -> str:
    """The address of a database from its parts: a person must not have to escape a password."""
    host, database, user = text(form, "host"), text(form, "database"), text(form, "user")
    port, password = text(form, "port", 5), text(form, "password", _SECRET)
    if not host or not database or not user:
        raise UserError("a database needs a host, its name, and a user")
    if set("/?#@") & set(host):
        # What follows would be read as options of the connection, which name files of the machine.
        raise UserError(f"the host is a name or an address alone, not {host!r:.60}")
    if port and not port.isdecimal():
        raise UserError(f"the port is a number, not {port!r}")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}" if password else quote(user, safe="")
    return f"postgresql://{login}@{host}{f':{port}' if port else ''}/{quote(database, safe='')}"


async def _tried_database(desk: Desk, credential: Credential) -> Said:
    address = desk.vault.secret(credential.name).values[ADDRESS]
    try:
        database = await open_database(address, desk.site.clock)
    except BowerbirdError as error:
        return Said(f"{credential.name} cannot be opened: {error}", "bad")
    try:
        is_ours = await is_store(database, credential.name)
    except StoreError as error:
        return Said(str(error), "bad")
    finally:
        await database.close()
    if not is_ours:
        return Said(f"{credential.name} answers, and holds no crawls yet: the first one makes its tables.", "good")
    return Said(f"{credential.name} answers; it is a store of version {SCHEMA_VERSION}.", "good")

"""What the pages of steering share: the vault, the crawl files that were made here, and the processes that were started."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bowerbird.db.addresses import is_postgres, public
from bowerbird.errors import CredentialError, UserError
from bowerbird.limits.credentials import ADDRESS, DATABASE
from bowerbird.limits.vault import FileVault
from bowerbird.settings import Settings, load_settings
from bowerbird.steering.files import CrawlFiles, folder_for
from bowerbird.steering.processes import Processes
from bowerbird.web.errors import NotFound
from bowerbird.web.security import Form, Role
from bowerbird.web.site import Site

_FOR_STEER = ("/steering/new", "/steering/credentials")
"""Tabs that are of no use to those who read alone."""
TABS = (
    ("Crawls", "/steering"),
    ("New crawl", "/steering/new"),
    ("Seeds", "/steering/seeds"),
    ("Find people", "/steering/people"),
    ("Credentials", "/steering/credentials"),
    ("Actions", "/steering/actions"),
)

_MOST_SAID = 500


class Said(Struct, frozen=True):
    """What a page tells of an action that is over."""

    words: str
    tone: str = ""
    """`good` or `bad` where it went so; nothing where there is no telling."""


class Desk:
    """One for a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._said: dict[str, Said] = {}

    @cached_property
    def settings(self) -> Settings:
        return load_settings()

    @cached_property
    def vault(self) -> FileVault:
        given = self.site.vault
        return given if isinstance(given, FileVault) else FileVault(self.settings.vault, self.settings.vault_password)

    @cached_property
    def files(self) -> CrawlFiles:
        if not self.site.store or self.site.store == ":memory:":
            raise UserError("this store is in memory alone: crawls cannot be started beside it", code="unsupported")
        return CrawlFiles(folder_for(self.site.store, self.settings.data_folder))

    @cached_property
    def processes(self) -> Processes:
        return Processes(self.vault.path, self.vault.password)

    def store_written(self) -> str:
        """How a crawl file names this store: never with a password."""
        store = self.site.store
        if not is_postgres(store) or public(store) == store:
            return store if is_postgres(store) else str(self.files.folder.parent / _name(store))
        for each in self.vault.credentials():
            if each.provider == DATABASE and self.vault.secret(each.name).values.get(ADDRESS) == store:
                return f"vault:{each.name}"
        raise CredentialError(
            "the address of this store has a password, which belongs into no crawl file",
            "add the database under Credentials first",
            code="insecure_address",
        )

    def page(self, request: Request, template: str, title: str, **values: Any) -> Response:
        """A page of this area, with its tabs."""
        here = max((path for _, path in TABS if request.url.path.startswith(path)), key=len, default="")
        person = self.site.guard.person(request)
        hidden = _FOR_STEER if person is not None and person.role < Role.STEER else ()
        tabs = [(label, path, path == here) for label, path in TABS if path not in hidden]
        said = self._said.get(request.query_params.get("said", ""))
        return self.site.page(request, f"steering/{template}", title=title, tabs=tabs, said=said, **values)

    def back(self, to: str, said: str | Said = "") -> Response:
        """Back to a page after an action, with what was done. The words stay here: an address that somebody sends could otherwise
        have a page say anything."""
        if not said:
            return RedirectResponse(to, status_code=303)
        key = secrets.token_urlsafe(8)
        self._said[key] = said if isinstance(said, Said) else Said(said)
        while len(self._said) > _MOST_SAID:
            self._said.pop(next(iter(self._said)))
        return RedirectResponse(f"{to}{'&' if '?' in to else '?'}said={key}", status_code=303)

    async def named(self, name: str) -> str:
        """The name of a crawl of this store, or of a file that was made here."""
        return self.known(name, {crawl.name for crawl in await self.site.reader.crawls()})

    def known(self, name: str, crawls: Collection[str]) -> str:
        """The same for those who have read the crawls of the store already."""
        if name not in crawls and name not in self.made():
            raise NotFound(f"there is no crawl called {name!r:.60} here", code="unknown_crawl")
        return name

    def made(self) -> list[str]:
        try:
            return self.files.names()
        except UserError:
            return []


def _name(store: str) -> str:
    return store.replace("\\", "/").rsplit("/", 1)[-1]


def text(form: Form | Mapping[str, Any], name: str, most: int = 400) -> str:
    """A field as text, without what surrounds it; too much of it is refused."""
    value = form.get(name)
    found = value.strip() if isinstance(value, str) else ""
    if len(found) > most:
        raise UserError(f"{name} is too long: {len(found):,} characters, and {most:,} at most", code="too_large")
    return found

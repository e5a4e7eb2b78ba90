"""The people of the dashboard: everybody's own password, and for admins everybody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bowerbird.errors import UserError
from bowerbird.ports import Transaction
from bowerbird.web.security import Form, Role, people
from bowerbird.web.security.entrance import Refused
from bowerbird.web.security.passwords import SHORTEST, Crowded, checked
from bowerbird.web.security.sessions import Visitor
from bowerbird.web.site import Site

_DONE = {
    "own": "Your password is changed; your other sessions have ended.",
    "added": "Added.",
    "role": "The role is changed; they have to log in again.",
    "password": "The password is set; they have to log in again.",
    "removed": "Removed; they are logged out.",
}


class PeoplePages:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def index(self, request: Request) -> Response:
        visitor, everybody = self._visitor(request), []
        if visitor.role is Role.ADMIN:
            async with self._site.database.reading() as tx:
                everybody = list(await people.listed(tx))
        return self._site.page(
            request,
            "people/index.html",
            title="People",
            visitor=visitor,
            everybody=everybody,
            roles=[role.word for role in Role],
            is_admin=visitor.role is Role.ADMIN,
            done=_DONE.get(request.query_params.get("done", ""), ""),
            shortest=SHORTEST,
        )

    async def own_password(self, request: Request, form: Form) -> Response:
        """Changes it for who knows the old one: an open browser is not enough."""
        visitor = self._visitor(request)
        if visitor.person is None:
            raise UserError(
                "whoever has the key of the terminal has no password", "add yourself as a person first", code="refused"
            )
        name = visitor.person

        async def change() -> None:
            if not await self._is_own(request, name, _text(form, "old")):
                raise UserError("the old password is wrong", code="wrong_password")
            await self._set(name, form, but=visitor.session)

        await self._site.act(request, "change own password", name, change)
        return RedirectResponse("/people?done=own", 303)

    async def add(self, request: Request, form: Form) -> Response:
        name, role = _text(form, "name"), Role.called(_text(form, "role"))

        async def add() -> None:
            hash_ = await self._hash(form, name)
            await self._write(lambda tx: people.add(tx, name, hash_, role, self._site.clock.now()))

        await self._site.act(request, f"add person ({role.word})", people.written(name), add)
        return RedirectResponse("/people?done=added", 303)

    async def role(self, request: Request, form: Form) -> Response:
        name, role = _text(form, "name"), Role.called(_text(form, "role"))
        await self._site.act(
            request,
            f"give the role {role.word}",
            people.written(name),
            lambda: self._write(lambda tx: people.change_role(tx, name, role)),
        )
        return RedirectResponse("/people?done=role", 303)

    async def password(self, request: Request, form: Form) -> Response:
        name = _text(form, "name")
        await self._site.act(request, "set password", people.written(name), lambda: self._set(name, form))
        return RedirectResponse("/people?done=password", 303)

    async def remove(self, request: Request, form: Form) -> Response:
        name = _text(form, "name")
        if people.written(name) == self._visitor(request).person:
            raise UserError(
                "nobody removes themselves here",
                "ask another admin, or use `bowerbird people remove` on the machine",
                code="refused",
            )
        await self._site.act(
            request, "remove person", people.written(name), lambda: self._write(lambda tx: people.remove(tx, name))
        )
        return RedirectResponse("/people?done=removed", 303)

    async def _set(self, name: str, form: Form, but: str = "") -> None:
        hash_ = await self._hash(form, name)
        await self._write(lambda tx: people.set_password(tx, name, hash_, self._site.clock.now(), but=but))

    async def _hash(self, form: Form, name: str) -> str:
        password = checked(_text(form, "password"), name)
        if password != _text(form, "again"):
            raise UserError("the two passwords differ", "type the same one twice", code="weak_password")
        try:
            return await self._site.guard.entrance.passwords.hash(password)
        except Crowded:
            raise UserError("many people log in just now", "try again in a few seconds", code="too_many") from None

    async def _is_own(self, request: Request, name: str, password: str) -> bool:
        try:
            return await self._site.guard.entrance.is_own(name, password, self._site.guard.address(request))
        except Refused as refused:
            raise HTTPException(refused.status, str(refused)) from None

    async def _write(self, work: Callable[[Transaction], Awaitable[None]]) -> None:
        async with self._site.database.transaction() as tx:
            await work(tx)

    def _visitor(self, request: Request) -> Visitor:
        visitor = self._site.guard.person(request)
        if visitor is None:
            raise UserError("log in first", code="needs_password")
        return visitor


def _text(form: Form, name: str) -> str:
    value = form.get(name)
    return value if isinstance(value, str) else ""

"""Messages to people: a program that is run, a web address that is told, a mail. Implements `ports.Messenger`."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import aiohttp

from bowerbird.ports import Vault

_VAULT = "vault:"
_PATIENCE = 30.0
"""Seconds that a program, a web server or a mail server may take."""
_ADDRESS = "address"


class OutsideMessenger:
    """Tells people what happened, from this machine."""

    def __init__(self, vault: Vault | None = None) -> None:
        """`vault`: where addresses are kept that nobody else may see."""
        self._vault = vault

    async def run(self, command: Sequence[str], message: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=DEVNULL, stderr=PIPE)
        except OSError as error:
            raise OSError(f"the command {command[0]!r} cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(_PATIENCE):
                _, said = await process.communicate(message.encode())
        except TimeoutError:
            process.kill()
            await process.wait()
            raise OSError(f"the command {command[0]!r} did not end within {_PATIENCE:.0f} s") from None
        if process.returncode:
            words = said.decode(errors="replace").strip()[:200]
            raise OSError(f"the command {command[0]!r} ended with {process.returncode}: {words or 'nothing said'}")

    async def post(self, url: str, values: Mapping[str, Any]) -> None:
        meant = urlsplit(self._address(url))
        timeout = aiohttp.ClientTimeout(total=_PATIENCE)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session,
                session.post(meant.geturl(), json=dict(values), allow_redirects=False) as answer,
            ):
                status = answer.status
        except (aiohttp.ClientError, TimeoutError) as error:
            # Without the address, which may be a secret.
            raise OSError(f"the webhook at {meant.hostname} cannot be reached: {type(error).__name__}") from None
        if not 200 <= status < 300:
            raise OSError(f"the webhook at {meant.hostname} answered {status}")

    async def mail(self, server: str, to: Sequence[str], subject: str, message: str) -> None:
        meant = urlsplit(self._address(server))
        letter = EmailMessage()
        # In one line, whatever a network wrote into it: there are more ends of lines than one thinks of, and no header has any.
        letter["Subject"] = "".join(mark if mark.isprintable() else " " for mark in subject)[:200]
        letter["To"] = ", ".join(to)
        user = unquote(meant.username or "")
        letter["From"] = user if "@" in user else to[0]
        letter.set_content(message)
        try:
            await asyncio.to_thread(_send, meant, letter)
        except (OSError, smtplib.SMTPException) as error:
            raise OSError(f"the mail server {meant.hostname} did not take the message: {type(error).__name__}") from None

    def _address(self, written: str) -> str:
        if not written.startswith(_VAULT):
            return written
        if self._vault is None:
            raise OSError(f"{written} names an address in the vault, which is not open here")
        return self._vault.secret(written.removeprefix(_VAULT)).values[_ADDRESS]


def _send(server: SplitResult, letter: EmailMessage) -> None:
    """Sends a letter, never a password without encryption."""
    host, context = server.hostname or "", ssl.create_default_context()
    if server.scheme == "smtps":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(host, server.port or 465, timeout=_PATIENCE, context=context)
    else:
        connection = smtplib.SMTP(host, server.port or 587, timeout=_PATIENCE)
    with connection as mail:
        mail.ehlo()
        if server.scheme != "smtps" and mail.has_extn("starttls"):
            mail.starttls(context=context)
        elif server.scheme != "smtps" and server.password:
            raise smtplib.SMTPException("the server offers no encryption, and a password is not sent without")
        if server.username and server.password:
            mail.login(unquote(server.username), unquote(server.password))
        mail.send_message(letter)

"""A dashboard beside a crawl: a process of its own, so that nothing it does can slow or end the crawl."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.settings import has_display, load_settings, process_environment
from bowerbird.transport.serving import needed_for_web

_PATIENCE = 5.0
"""Seconds that it has to end by itself."""
_NEXT = "Another browser comes in with"

DashboardFlag = Annotated[
    bool, typer.Option("--dashboard", help="Show the crawl in a browser too; the address is printed (needs bowerbird[web]).")
]
DashboardPort = Annotated[
    int | None,
    typer.Option("--port", min=0, max=65535, help="Port of the dashboard.", show_default="8440, or a free one where it is taken"),
]


class DashboardOptions(Struct, frozen=True, kw_only=True):
    """How a crawl is shown beside what the terminal says."""

    port: int | None = None
    """None: the usual one, or any that is free."""
    vault: Path | None = None
    opens: bool = False
    """Whether the user's browser is opened."""


@asynccontextmanager
async def dashboard_shown(store: str, say: Callable[[str], Any], how: DashboardOptions | None) -> AsyncIterator[None]:
    """Shows a store while the block runs, if somebody wants it; whatever befalls the dashboard, the block goes on."""
    if how is None:
        yield
        return
    check_installed()
    if store == ":memory:":
        raise UserError("a store in memory cannot be shown by another process", "name a file", code="unsupported")
    log = _log_file()
    with log.open("wb") as written:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bowerbird.web.child", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=written, env=process_environment(), start_new_session=True,
        )  # fmt: skip
    assert process.stdin is not None  # noqa: S101 - asked for above
    process.stdin.write(msgspec.json.encode(_asked(store, how)) + b"\n")
    listening = asyncio.create_task(_listen(process, say, log, opens=how.opens))
    try:
        yield
    finally:
        listening.cancel()
        process.stdin.close()
        await ended(process)


def _asked(store: str, how: DashboardOptions) -> dict[str, object]:
    return {"store": store, "port": how.port, "vault": str(how.vault) if how.vault else None}


def check_installed() -> None:
    """Raises `UserError` with what to install where something is missing that a dashboard needs."""
    for package in ("starlette", "uvicorn", "jinja2", "argon2", "python_multipart"):
        needed_for_web(package)


async def _listen(process: asyncio.subprocess.Process, say: Callable[[str], Any], log: Path, *, opens: bool) -> None:
    assert process.stdout is not None  # noqa: S101 - asked for by `dashboard_shown`
    told = 0
    while line := await process.stdout.readline():
        message = msgspec.json.decode(line)
        if problem := message.get("problem"):
            say(f"There is no dashboard: {problem}. The crawl goes on.")
            return
        say(f"{_NEXT} {message['address']}" if told else f"Dashboard: {message['address']}")
        told += 1
        if opens and told == 1:
            await asyncio.to_thread(open_browser, message["address"])
    say(f"The dashboard has ended by itself; the crawl goes on. {log} says why.")


async def ended(process: asyncio.subprocess.Process, within: float = _PATIENCE) -> None:
    """Waits until a process has ended that was told to; one that does not, within so many seconds, is killed."""
    try:
        await asyncio.wait_for(process.wait(), within)
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def open_browser(address: str) -> bool:
    """Opens the user's browser where there is a screen: one in the terminal would cover what the crawl says."""
    if not has_display():
        return False
    import webbrowser

    with suppress(webbrowser.Error):
        return webbrowser.open(address)
    return False


def _log_file() -> Path:
    folder = load_settings().data_folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "dashboard.log"

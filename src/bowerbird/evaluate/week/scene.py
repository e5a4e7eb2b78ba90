"""Where the things of a week are done: a folder, the networks, and one who types commands and looks at what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bowerbird.evaluate.week.running import Ran, Runner, read_rows
from bowerbird.evaluate.week.serving import Server
from bowerbird.model.command_lines import command_line

_KINDS = {"bluesky": "user", "mastodon": "user", "x": "app", "weibo": "user", "twitter_v1": "user"}


class Failed(Exception):
    """A thing that did not work with one command, and why."""


class Scene(Struct, frozen=True, kw_only=True):
    """The researcher's desk."""

    folder: Path
    run: Runner
    networks: dict[str, Server]
    typed: list[str] = []

    def do(self, *words: str, given: str = "", code: int = 0) -> Ran:
        """Types one command; raises `Failed` where it does not end as it should."""
        self.typed.append(command_line(*words))
        ran = self.run(words, given)
        if ran.code != code:
            raise Failed(f"`bowerbird {' '.join(words[:3])} …` ended with {ran.code}: {(ran.err or ran.out).strip()[-300:]}")
        return ran

    def rows(self, name: str) -> list[dict[str, Any]]:
        found = read_rows(self.folder / name)
        if not found:
            raise Failed(f"{name} has no rows")
        return found

    def add_key(self, server: Server) -> None:
        """The key to a network, as its owner would add it."""
        kind = _KINDS[server.name]
        name = f"{server.name}-{server.base.rpartition(':')[2]}"
        place = ["--provider", server.name, "--kind", kind, "--server", server.base]
        self.do("credentials", "add", name, *place, "--stdin", given=_secret(server.name, kind, server.token(kind)))


def _secret(provider: str, kind: str, token: Any) -> str:
    if provider == "bluesky":
        return f"identifier={token.account}\napp_password={token.secret}\n"
    if provider == "twitter_v1":
        own = f"access_token={token.value}\naccess_token_secret={token.secret}\n"
        return f"consumer_key={token.consumer_key}\nconsumer_secret={token.consumer_secret}\n{own}"
    return f"{'bearer_token' if kind == 'app' else 'access_token'}={token.value}\n"


def check(holds: bool, why: str) -> None:
    """Raises `Failed` with the reason unless it holds."""
    if not holds:
        raise Failed(why)


def keys_of(rows: Sequence[dict[str, Any]], column: str, server: Server) -> set[str]:
    """What the service calls the things that rows name by their ids."""
    return {_key(str(row[column] or ""), server) for row in rows}


def _key(id_: str, server: Server) -> str:
    if server.name == "mastodon":
        return id_.removesuffix("/activity").rpartition("/")[2]
    return id_ if id_.startswith(("at:", "did:")) else id_.partition(":")[2]

"""What passes between a visitor and a dialect: parameters in, a reply out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

import msgspec

from bowerbird.model import Request

encode = msgspec.json.Encoder().encode
JSON = "application/json; charset=utf-8"


class Reply(msgspec.Struct, frozen=True):
    """Status, headers and body exactly as they go out; header names in lower case."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = {}

    def adding(self, headers: dict[str, str]) -> Reply:
        return Reply(self.status, self.body, {**self.headers, **headers})


class RefusedError(Exception):
    """Ends the handling of a request with an error reply of the dialect; `message`: the reason, where it has one."""

    def __init__(self, reply: Reply, message: str = "") -> None:
        super().__init__(reply.status)
        self.reply = reply
        self.message = message


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status, encode(value), {"content-type": JSON, **(headers or {})})


def raw_list(items: Iterable[bytes], headers: dict[str, str] | None = None) -> Reply:
    """A JSON array of items that are encoded already."""
    return Reply(200, b"[" + b",".join(items) + b"]", {"content-type": JSON, **(headers or {})})


class Params:
    """The parameters of a request, from the query and from a form body; the first of a name wins."""

    def __init__(self, request: Request) -> None:
        self.pairs = list(request.query)
        if request.body and "json" not in request.headers.get("content-type", ""):
            self.pairs += parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)

    def get(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.pairs if key == name), default)

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def has(self, name: str) -> bool:
        return any(key == name for key, _ in self.pairs)

    def integer(self, name: str, default: int) -> int:
        """The number given, or the default where it is none."""
        text = self.get(name)
        return int(text) if text.lstrip("-").isdecimal() and len(text) <= 20 else default

    def flag(self, name: str, default: bool = False) -> bool:
        text = self.get(name).lower()
        return text in ("true", "1", "t", "on") if text else default

"""Recorded exchanges: cassettes with a list of `interactions` (one JSON file each), and streams with one event per line."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.model import EPOCH, Answer
from bowerbird.providers.headers import http_date

_NUMBERS = re.compile(r"(?<=/)\d{3,}(?=/|\.|$)")
_LARGEST = 1 << 26


class Exchange(Struct, frozen=True):
    """One recorded call: the request's line, and the answer as a transport would give it."""

    method: str
    base: str
    path: str
    query: tuple[tuple[str, str], ...]
    answer: Answer
    file: str

    @property
    def address(self) -> str:
        return f"{self.file}: {self.method} {self.path}"

    @property
    def pattern(self) -> str:
        """The path with its numbers taken out: what calls of one kind share."""
        return _NUMBERS.sub("N", self.path)


def recorded(folder: Path) -> Iterator[Exchange]:
    """Every call of every cassette, file by file in the order of names."""
    for file in sorted(folder.rglob("*.json")):
        for call in _interactions(file):
            yield _exchange(call, file.relative_to(folder).as_posix())


def streamed(folder: Path) -> int:
    """How many events the recorded streams hold."""
    return sum(1 for file in folder.rglob("*.jsonl") for line in file.read_bytes().splitlines() if line.strip())


def _interactions(file: Path) -> list[dict[str, Any]]:
    try:
        cassette = json.loads(file.read_bytes())
        calls = cassette["interactions"] if isinstance(cassette, dict) else []
    except (ValueError, KeyError):
        return []
    return [call for call in calls if isinstance(call, dict)]


def _exchange(call: dict[str, Any], file: str) -> Exchange:
    try:
        request, response = call["request"], call["response"]
        address = urlsplit(request["uri"])
        return Exchange(
            method=request["method"],
            base=f"{address.scheme}://{address.netloc}",
            path=address.path,
            query=tuple(parse_qsl(address.query, keep_blank_values=True)),
            answer=_answer(response),
            file=file,
        )
    except (KeyError, TypeError, ValueError, OSError, zlib.error) as error:
        raise UserError(
            f"{file} is not a cassette we can read ({type(error).__name__}: {error})",
            "record it again, or take it out",
            code="file_damaged",
        ) from error


def _answer(response: dict[str, Any]) -> Answer:
    headers = {name.lower(): _header(value) for name, value in (response.get("headers") or {}).items()}
    at: datetime = http_date(headers.get("date")) or EPOCH
    status = int(response["status"]["code"])
    return Answer(status=status, headers=headers, body=_body(response.get("body")), sent_at=at, received_at=at)


def _header(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _body(body: Any) -> bytes:
    """The body's bytes; recorders keep text as it is and the rest in base 64, sometimes still compressed."""
    kept = body if isinstance(body, dict) else {"string": body}
    if kept.get("base64_string"):
        try:
            raw = base64.b64decode(kept["base64_string"], validate=True)
        except binascii.Error as error:
            raise ValueError("the body is not base 64") from error
    else:
        raw = str(kept.get("string") or "").encode(errors="surrogatepass")
    return gzip.decompress(raw)[:_LARGEST] if raw.startswith(b"\x1f\x8b") else raw

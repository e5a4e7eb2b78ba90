"""Servers that repeat the secret they were asked with: in texts, ids, errors, headers, positions and redirects. Pure."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import structs

from bowerbird.model import Answer, Request

TOKEN = "((token))"  # noqa: S105  stands where a secret is to be repeated
_MARK = TOKEN.encode()
SPELLED = f"{TOKEN} ((quoted)) ((packed))"
"""The secret as it is, as addresses spell it, and in base64."""
_IN_QUERY = ("access_token", "token")
_IN_HEAD = re.compile(rb"(?i)^authorization: *(?:bearer +)?([^\r\n]+)|[?&]access_token=([^& ]+)", re.MULTILINE)


def secret_in(request: Request) -> str:
    """What a request shows that it is ours with; nothing when it shows nothing."""
    signed = request.headers.get("authorization", "")
    in_query = [value for name, value in request.query if name in _IN_QUERY]
    return re.sub(r"(?i)^bearer +", "", signed) or (in_query[0] if in_query else "")


def secret_in_head(head: bytes) -> str:
    """The same of a request as it came over the wire."""
    found = _IN_HEAD.search(head)
    return (found[1] or found[2]).decode(errors="replace").strip() if found else ""


def echoed(text: bytes, secret: str) -> bytes:
    """The text with the secret where it is to be repeated, spelled so that JSON stays JSON."""
    if b"((" not in text:
        return text
    text = text.replace(b"((quoted))", quote(secret, safe="").encode())
    text = text.replace(b"((packed))", b64encode(secret.encode()))
    return text.replace(_MARK, json.dumps(secret)[1:-1].encode())


def echoed_answer(answer: Answer, secret: str) -> Answer:
    headers = {name: echoed(value.encode(errors="replace"), secret).decode() for name, value in answer.headers.items()}
    return structs.replace(answer, body=echoed(answer.body, secret), headers=headers)


_ERROR = {"error": SPELLED, "message": SPELLED, "error_description": SPELLED, "errors": [{"code": 32, "message": SPELLED}]}
REFUSALS: Mapping[str, tuple[int, bytes]] = {
    "token in an error": (400, json.dumps(_ERROR).encode()),
    "token in a refusal": (403, json.dumps({**_ERROR, "error_code": 10014, "title": SPELLED}).encode()),
    "token in a failure": (500, f"<html><pre>Authorization: Bearer {SPELLED}</pre>".encode()),
    "token in a redirect": (302, b""),
}
HEADERS: Mapping[str, str] = {
    "location": f"/elsewhere?access_token={TOKEN}",
    "link": f'<https://elsewhere.example/x?max_id={TOKEN}>; rel="next"',
    "retry-after": TOKEN,
    "x-ratelimit-remaining": TOKEN,
    "x-error-message": SPELLED,
    "www-authenticate": f'Bearer realm="{SPELLED}"',
    "content-type": f"application/json; boundary={TOKEN}",
}

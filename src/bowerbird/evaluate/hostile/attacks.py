"""What a hostile server does to good answers: each attack is a function from an answer to an answer. Pure.

They are written for any network: a body is taken apart as JSON, and what looks like an id, a time, a number or a position is
replaced wherever it stands.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import structs

from bowerbird.evaluate.hostile.echoes import HEADERS, REFUSALS, SPELLED, TOKEN
from bowerbird.model import Answer

Attack = Callable[[Answer, int], Answer]
"""The good answer and how many were attacked before it."""

_JUNK: list[Any] = [None, True, -1, 1.5, 10**30, "", "\x00", "\ud800", "9" * 5000, [], {}, [[]], {"id": {}}]
_TIME = re.compile(r"\d{4}-\d\d-\d\dT|[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d ")
POSITIONS = ("cursor", "next_cursor", "next_cursor_str", "next_token", "next_results", "max_id", "pagination_token", "page")
"""What positions are called in questions and answers."""
ASKED = "x-asked"
"""A header that tells attacks which list an answer is a page of."""
_LAST_DAY = "Fri, 31 Dec 9999 23:59:59 GMT"
_FLOOD = {f"x-{number}": "y" * 900 for number in range(2_000)}
_REFUSAL = b'{"errors":[' + b"{}," * 300_000 + b"{}]}"
_TIMES = ("9999-12-31T23:59:59.999Z", "Fri Dec 31 23:59:59 +0000 9999", "-0001-01-01T00:00:00Z", "0000-00-00", "1e308")


def _body(answer: Answer, body: bytes, **headers: str) -> Answer:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return structs.replace(answer, body=body, headers={**answer.headers, **named})


def _document(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError:
        return []


def _written(answer: Answer, document: Any) -> Answer:
    return _body(answer, json.dumps(document).encode("utf-8", "surrogatepass"))


def _mapped(value: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """The document with every value that is neither a list nor an object changed."""
    if isinstance(value, dict):
        return {key: _mapped(each, change, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_mapped(each, change, name) for each in value]
    return change(name, value)


def _everywhere(change: Callable[[str, Any], Any]) -> Attack:
    return lambda answer, _: _written(answer, _mapped(_document(answer), change))


def _lists(item: bytes, count: int) -> Attack:
    """The first list of the answer, or all of it, replaced by so many of one item."""
    filled = b"[" + (item + b",") * (count - 1) + item + b"]"

    def attack(answer: Answer, _: int) -> Answer:
        document = _document(answer)
        name = next((key for key, each in document.items() if isinstance(each, list)), "") if isinstance(document, dict) else ""
        if not name:
            return _body(answer, filled)
        others = {key: each for key, each in document.items() if key != name}
        head = json.dumps(others).encode()[:-1] + (b"," if others else b"")
        return _body(answer, head + json.dumps(name).encode() + b":" + filled + b"}")

    return attack


def _is_id(name: str) -> bool:
    return name in ("id", "id_str", "idstr", "did", "uri", "author_id", "mid", "cid") or name.endswith("_id")


def _many_items(answer: Answer, _: int) -> Answer:
    """Every list a hundred times as long."""

    def longer(value: Any) -> Any:
        if isinstance(value, list):
            return value * 100
        return {key: longer(each) for key, each in value.items()} if isinstance(value, dict) else value

    return _written(answer, longer(_document(answer)))


def _many_parts(answer: Answer, _: int) -> Answer:
    """A post that mentions thousands, or an account with as many labels, in the words of every network."""
    document, keys = _document(answer), [f"{10**17 + number}" for number in range(8_000)]
    mentions = [{"id": key, "id_str": key, "name": key, "val": key} for key in keys]
    features = [{"$type": "app.bsky.richtext.facet#mention", "did": f"did:web:a{key}.example"} for key in keys]
    parts: dict[str, Any] = dict.fromkeys(("mentions", "tags", "labels", "fields"), mentions)
    parts["entities"] = {"mentions": mentions, "user_mentions": mentions}
    parts["facets"] = [{"index": {"byteStart": 0, "byteEnd": 1}, "features": features}]
    holders = [(holder, key) for holder, key in _places(document) if isinstance(holder, dict)]
    posts = [holder for holder, key in holders if key in ("text", "content")]
    for item in (posts or [holder for holder, key in holders if _is_id(key)])[:1]:
        item.update(parts)
    return _written(answer, document)


def _doubled_keys(answer: Answer, _: int) -> Answer:
    return _body(answer, re.sub(rb'"(\w+)":', rb'"\1":null,"\1":', answer.body))


def _mutations(answer: Answer, number: int) -> Answer:
    """Something else at a few places, others each time."""
    chance, document = random.Random(number), _document(answer)
    for _ in range(5):
        places = list(_places(document))
        if places:
            holder, key = chance.choice(places)
            holder[key] = chance.choice(_JUNK)
    return _written(answer, document)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in list(pairs):
        yield value, key
        yield from _places(each)


def _moved(position: Callable[[int], str], *, is_empty: bool = False) -> Attack:
    """The answer with another next position, in whatever way the network tells it."""

    def attack(answer: Answer, number: int) -> Answer:
        told, document = position(number), _document(answer)
        if not _position(answer, document):
            return answer
        if is_empty and isinstance(document, list):
            document = []
        if isinstance(document, dict):
            named = dict.fromkeys(POSITIONS, told)
            document = {
                key: [] if is_empty and isinstance(each, list) else {**each, **named} if key == "meta" else each
                for key, each in {**document, **named}.items()
            }
        return structs.replace(
            _written(answer, document),
            headers={**answer.headers, "link": f'<https://elsewhere.example/x?max_id={told}>; rel="next"'},
        )

    return attack


def _circle(answer: Answer, number: int) -> Answer:
    """The second position of a list again and again: all positions are good ones, and lead nowhere."""
    asked, position = answer.headers.get(ASKED, ""), _position(answer, _document(answer))
    if position:
        _met.setdefault(asked, []).append(position)
    met = _met.get(asked, [])
    return _moved(lambda _: met[1])(answer, number) if position and len(met) > 3 else answer


_met: dict[str, list[str]] = {}


def _position(answer: Answer, document: Any) -> str:
    """The next position that an answer tells."""
    linked = re.search(r"max_id=(\w+)", answer.headers.get("link", ""))
    if linked is not None:
        return linked[1]
    told = {**document, **(document.get("meta") or {})} if isinstance(document, dict) else {}
    return next((str(told[name]) for name in POSITIONS if told.get(name)), "")


def _headers(**headers: str) -> Attack:
    return lambda answer, _: _body(answer, answer.body, **headers)


def _limits(limit: str, remaining: str, reset: str) -> Attack:
    names = ("x-ratelimit", "x-rate-limit", "ratelimit")
    told = {
        f"{name}-{what}": text
        for name in names
        for what, text in zip(("limit", "remaining", "reset"), (limit, remaining, reset), strict=True)
    }
    return lambda answer, _: structs.replace(answer, headers={**answer.headers, **told})


def _status(status: int, body: bytes = b"") -> Attack:
    return lambda answer, _: structs.replace(answer, status=status, body=body or answer.body)


def _refusal(status: int, body: bytes) -> Attack:
    return lambda answer, _: structs.replace(answer, status=status, body=body, headers={**answer.headers, **HEADERS})


ATTACKS: Mapping[str, Attack] = {
    "zeros": _lists(b"0", 800_000),
    "objects": _lists(b"{}", 400_000),
    "some objects": _lists(b"{}", 30_000),
    "long list": _many_items,
    "deep lists": lambda answer, _: _body(answer, b"[" * 100_000 + b"]" * 100_000),
    "deep objects": lambda answer, _: _body(answer, b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "deep items": _everywhere(lambda name, value: json.loads("[" * 500 + "]" * 500) if name in ("text", "content") else value),
    "huge texts": _everywhere(lambda name, value: value + "x" * 20_000 if isinstance(value, str) and len(value) > 40 else value),
    "long ids": _everywhere(lambda name, value: "9" * 6_000 if _is_id(name) and value else value),
    "empty ids": _everywhere(lambda name, value: "" if _is_id(name) else value),
    "nul": _everywhere(lambda name, value: f"{value}\x00" if isinstance(value, str) else value),
    "surrogates": _everywhere(lambda name, value: f"{value}\ud800" if isinstance(value, str) else value),
    "escapes": _everywhere(lambda name, value: f"\x1b]0;x\x07{value}" if isinstance(value, str) and name != "id" else value),
    "huge numbers": _everywhere(lambda name, value: 10**40 if isinstance(value, int) else value),
    "endless digits": lambda answer, _: _body(answer, re.sub(rb'(?<="): ?\d+', b":" + b"9" * 6_000, answer.body)),
    "floats": _everywhere(lambda name, value: 1e308 if isinstance(value, int) else value),
    "nan": lambda answer, _: _body(answer, re.sub(rb'(?<="): ?\d+', b":NaN", answer.body)),
    "negative": _everywhere(lambda name, value: -value - 1 if isinstance(value, int) and not isinstance(value, bool) else value),
    "dates": _everywhere(lambda name, value: _TIMES[0] if isinstance(value, str) and _TIME.match(value) else value),
    "classic dates": _everywhere(lambda name, value: _TIMES[1] if isinstance(value, str) and _TIME.match(value) else value),
    "no dates": _everywhere(lambda name, value: _TIMES[3] if isinstance(value, str) and _TIME.match(value) else value),
    "wrong types": _mutations,
    "nulls": _everywhere(lambda name, value: None),
    "texts": _everywhere(lambda name, value: "x"),
    "doubled keys": _doubled_keys,
    "html": lambda answer, _: _body(answer, b"<html>" * 1000, content_type="text/html"),
    "nothing": lambda answer, _: _body(answer, b""),
    "null": lambda answer, _: _body(answer, b"null"),
    "bytes": lambda answer, _: _body(answer, bytes(range(256)) * 100),
    "half": lambda answer, _: _body(answer, answer.body[: len(answer.body) // 2]),
    "another encoding": lambda answer, _: _body(answer, answer.body.decode(errors="replace").encode("utf-16")),
    "date of 9999": _headers(date=_LAST_DAY),
    "date of 1": _headers(date="Mon, 01 Jan 0001 00:00:00 GMT"),
    "wait for ever": lambda answer, _: _body(structs.replace(answer, status=429), b"{}", retry_after="9" * 15),
    "wait until 9999": lambda answer, _: _body(structs.replace(answer, status=503), b"{}", retry_after=_LAST_DAY),
    "no allowance": _limits("0", "0", "9" * 12),
    "negative limits": _limits("-5", "-1", "-1"),
    "limits without end": _limits("9" * 15, "9" * 15, "1"),
    "limits in words": _limits("many", "NaN", "9999-12-31T23:59:59Z"),
    "header flood": lambda answer, _: structs.replace(answer, headers={**answer.headers, **_FLOOD}),
    "status 999": _status(999, b"{}"),
    "status 204": _status(204),
    "status 304": _status(304),
    "status 101": _status(101, b"{}"),
    "endless refusal": lambda answer, _: _body(structs.replace(answer, status=500), _REFUSAL),
    "around in a circle": _circle,
    "empty pages for ever": _moved(lambda number: str(10**12 - number), is_empty=True),
    "huge position": _moved(lambda _: "9" * 100_000),
    "script as position": _moved(lambda _: "javascript:alert(1)"),
    "position with breaks": _moved(lambda _: "1\r\nx-evil: 1"),
    "token in texts": _everywhere(lambda name, value: SPELLED if isinstance(value, str) and len(value) > 30 else value),
    "token in ids": _everywhere(lambda name, value: TOKEN if _is_id(name) and value else value),
    "token as position": _moved(lambda _: TOKEN),
    "token in headers": lambda answer, _: structs.replace(answer, headers={**answer.headers, **HEADERS}),
    **{name: _refusal(*refusal) for name, refusal in REFUSALS.items()},
    "many parts": _many_parts,
}  # fmt: skip
"""By name."""
TURNING = frozenset(name for name in ATTACKS if "position" in name or name in ("around in a circle", "empty pages for ever"))
"""Those that need a position to turn."""

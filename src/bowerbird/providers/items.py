"""Decode JSON items one by one, so that a malformed item loses only itself.

msgspec refuses a whole body for one lone surrogate or one invalid byte. Such a body is decoded a
second time, slowly, with the standard library (`decode_slowly`): fields of type `Raw` keep the
broken text, all other fields must be valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import Raw, Struct

T = TypeVar("T")

UNREADABLE = (ValueError, RecursionError)
"""What decoding a hostile body can raise: msgspec's errors are ValueErrors, deep nesting is a
RecursionError."""
UNSENT = Raw(b"")
"""The default of optional nested items."""
_NOTHING = (UNSENT, Raw(b"null"))

_BACKSLASH = ord("\\")
_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
_may_have_nul = re.compile(rb"\\u0000").search
_NUMERIC_ID = re.compile(rb'"((?:[a-z_]{1,30}_)?id)"(\s{0,3}:\s{0,3})(\d{1,30})(?=[\s,}])')
_MAX_COUNT = 2**63 - 1
_MAX_ID = 300
_raw_list = msgspec.json.Decoder(list[Raw])
_raw_object = msgspec.json.Decoder(dict[str, Raw])
_fields = cache(msgspec.structs.fields)


def listed(body: bytes) -> list[bytes]:
    """Return the elements of a JSON array as bytes."""
    return [bytes(item) for item in decoded(_raw_list, body)]


def an_object(body: bytes) -> bytes:
    """Return the body if it is a JSON object."""
    decoded(_raw_object, body)
    return body


def count(number: int | None) -> int | None:
    """Return a counter that fits the database; servers send -1 for hidden ones."""
    return number if number is not None and 0 <= number <= _MAX_COUNT else None


def is_there(raw: Raw) -> bool:
    """Whether an optional nested item was sent and is not null."""
    return raw not in _NOTHING


def without(raw: bytes, *nested: Raw) -> bytes:
    """Return the payload with null in place of nested items, which are stored separately or must
    not be stored. Return b"" if one of them cannot be found in the payload."""
    for item in map(bytes, nested):
        if item.startswith(b"{"):
            if item not in raw:
                return b""
            raw = raw.replace(item, b"null")
    return raw


def shortened(text: str) -> str:
    """Return a server's message on one line, at most 200 characters, safe to store."""
    words = " ".join(text[:1000].replace("\x00", " ").split())
    return words[:200].encode(errors="replace").decode()


def identified(raw: bytes, *names: str) -> str | None:
    """Return the id of an item that could not be mapped, if that much can be decoded."""
    try:
        item = tree(raw)
    except UNREADABLE:
        return None
    values = [item.get(name) for name in names] if isinstance(item, dict) else []
    key = next((str(value) for value in values if value and isinstance(value, str | int)), "")
    return key if key.isprintable() and 0 < len(key) <= _MAX_ID else None


class Reader(Generic[T]):
    """Decodes one item: first strictly, then with numbers and strings interchangeable, last without
    malformed optional parts."""

    def __init__(self, shape: type[T], *optional: str) -> None:
        """`optional`: paths of fields (`record.embed`) that are dropped if they are malformed."""
        self._shape, self._optional = shape, optional
        self._strict = msgspec.json.Decoder(shape)
        self._lenient = msgspec.json.Decoder(shape, strict=False)

    def read(self, raw: bytes) -> T:
        # PostgreSQL cannot store U+0000 in text. Most items have no backslash, which is fast to
        # check.
        source = _NUL.sub(rb"\1", raw) if _BACKSLASH in raw and _may_have_nul(raw) else raw
        try:
            return self._strict.decode(source)
        except ValueError:
            pass
        try:
            return decoded(self._strict, source)
        except ValueError as error:
            if not self._optional and not isinstance(error, msgspec.ValidationError):
                raise
        source = _NUMERIC_ID.sub(rb'"\1"\2"\3"', source)
        try:
            return decoded(self._lenient, source)
        except ValueError:
            if not self._optional:
                raise
        item = tree(source)
        for path in self._optional:
            _drop_malformed(item, cast("type[Struct]", self._shape), path.split("."))
        return decoded(self._lenient, to_json(item))

    def read_all(self, raws: Sequence[bytes]) -> list[T] | None:
        """Decode all items in one call; None if one is malformed and each must be read alone."""
        whole = b"[%b]" % b",".join(raws)
        if _may_have_nul(whole):
            return None
        try:
            items = self._all.decode(whole)
        except UNREADABLE:
            return None
        return items if len(items) == len(raws) else None

    @cached_property
    def _all(self) -> msgspec.json.Decoder[list[T]]:
        return msgspec.json.Decoder(list[self._shape])  # type: ignore[name-defined]


def decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Decode a body; slowly if some of its text is not valid Unicode."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        return cast("T", decode_slowly(body, decoder.type))


def decode_slowly(body: bytes, shape: Any) -> Any:
    """Decode a body with invalid Unicode. Raises ValueError or RecursionError if it is not JSON or
    has another shape."""
    return _convert(shape, tree(body))


def tree(body: bytes) -> Any:
    """Decode a body to plain values; invalid bytes become lone surrogates."""
    return json.loads(body.decode("utf-8", "surrogateescape"))


def to_json(value: Any) -> bytes:
    """Encode a part of a tree, lone surrogates included."""
    return json.dumps(value).encode()


def _convert(shape: Any, value: Any) -> Any:
    if shape is Raw:
        return Raw(to_json(value))
    if isinstance(shape, type) and issubclass(shape, Struct) and isinstance(value, dict):
        fields = _fields(shape)
        for field in fields:
            if field.required and field.encode_name not in value:
                raise ValueError(f"without {field.encode_name}")
        return shape(
            **{
                field.name: _convert(field.type, value[field.encode_name])
                for field in fields
                if field.encode_name in value
            }
        )
    origin, inner = get_origin(shape), get_args(shape)
    if origin is list and isinstance(value, list):
        return [_convert(inner[0], each) for each in value]
    if origin is dict and isinstance(value, dict):
        return {_valid(inner[0], key): _convert(inner[1], each) for key, each in value.items()}
    if (
        origin in (Union, UnionType)
        and value is not None
        and len(some := [each for each in inner if each is not NoneType]) == 1
    ):
        return _convert(some[0], value)
    return _valid(shape, value)


def _valid(shape: Any, value: Any) -> Any:
    """Convert a value that must be valid Unicode throughout."""
    return msgspec.json.decode(
        json.dumps(value, ensure_ascii=False).encode(), type=shape, strict=False
    )


def _drop_malformed(item: Any, shape: type[Struct], path: list[str]) -> None:
    """Remove what does not fit the shape from the part of the item at `path`."""
    name = path[0]
    field = next(each for each in _fields(shape) if each.encode_name == name)
    if not isinstance(item, dict) or name not in item:
        return
    if len(path) > 1:
        _drop_malformed(item[name], field.type, path[1:])
        return
    try:
        item[name] = _fitting(field.type, item[name])
    except ValueError:
        del item[name]


def _fitting(shape: Any, value: Any) -> Any:
    """Return the part of a value that fits the shape. Raises ValueError if nothing does."""
    inner = [each for each in get_args(shape) if each is not NoneType]
    if get_origin(shape) in (Union, UnionType) and len(inner) == 1 and value is not None:
        return _fitting(inner[0], value)
    if get_origin(shape) is list and isinstance(value, list):
        items = []
        for each in value:
            with suppress(ValueError):
                items.append(_fitting(inner[0], each))
        return items
    if isinstance(shape, type) and issubclass(shape, Struct) and isinstance(value, dict):
        fields: dict[str, Any] = {}
        for field in _fields(shape):
            if field.encode_name in value:
                with suppress(ValueError):
                    fields[field.encode_name] = _fitting(field.type, value[field.encode_name])
            if field.required and field.encode_name not in fields:
                raise ValueError(f"without {field.encode_name}")
        return fields
    _convert(shape, value)
    return value

"""A body with text that is no Unicode, taken apart so that it loses one item and not the page.

The fast reader refuses a body as a whole for one lone surrogate or one wrong byte. Here it is read slowly, into the same shape:
what a shape keeps unread (`Raw`) keeps the broken text, for whoever reads it next; what it reads itself must be sound. In the
same way an item can be read without an odd part that it can spare.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct


def parted(body: bytes, shape: Any) -> Any:
    """The body in that shape; raises ValueError or RecursionError when it is no JSON, or of another shape."""
    return _shaped(shape, tree(body))


def tree(body: bytes) -> Any:
    """The body as plain values, with what is no Unicode kept as lone surrogates."""
    return json.loads(body.decode("utf-8", "surrogateescape"))


def written(value: Any) -> bytes:
    """A part of a tree as JSON again, what is no Unicode included."""
    return json.dumps(value).encode()


def _shaped(shape: Any, value: Any) -> Any:
    if shape is Raw:
        return Raw(written(value))
    if isinstance(shape, type) and issubclass(shape, Struct) and isinstance(value, dict):
        return _struct(shape, value)
    origin, inner = get_origin(shape), get_args(shape)
    if origin is list and isinstance(value, list):
        return [_shaped(inner[0], each) for each in value]
    if origin is dict and isinstance(value, dict):
        return {_sound(inner[0], key): _shaped(inner[1], each) for key, each in value.items()}
    if origin in (Union, UnionType):
        return _either(shape, inner, value)
    return _sound(shape, value)


def _struct(shape: type[Struct], value: dict[str, Any]) -> Struct:
    fields = _fields(shape)
    missing = [field.encode_name for field in fields if field.required and field.encode_name not in value]
    if missing:
        raise ValueError(f"without {missing[0]}")
    known = (field for field in fields if field.encode_name in value)
    return shape(**{field.name: _shaped(field.type, value[field.encode_name]) for field in known})


def _either(shape: Any, inner: tuple[Any, ...], value: Any) -> Any:
    others = [each for each in inner if each is not NoneType]
    if value is None or len(others) != 1:
        return _sound(shape, value)
    return _shaped(others[0], value)


def _sound(shape: Any, value: Any) -> Any:
    """A value that must be Unicode throughout."""
    return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode(), type=shape, strict=False)


# msgspec reads the annotations anew each time, which costs more than everything else here.
_fields = cache(msgspec.structs.fields)


def spared(item: Any, shape: type[Struct], ways: Iterable[str]) -> Any:
    """The item without what does not fit in those of its parts that it can spare; a way leads there (`record.embed`)."""
    for way in ways:
        _spare(item, shape, way.split("."))
    return item


def _spare(item: Any, shape: type[Struct], steps: list[str]) -> None:
    field = next(each for each in _fields(shape) if each.encode_name == steps[0])
    if not isinstance(item, dict) or steps[0] not in item:
        return
    if len(steps) > 1:
        _spare(item[steps[0]], field.type, steps[1:])
        return
    try:
        item[steps[0]] = _fitting(field.type, item[steps[0]])
    except ValueError:
        del item[steps[0]]


def _fitting(shape: Any, value: Any) -> Any:
    """What of the value fits the shape; raises ValueError when nothing does."""
    inner = [each for each in get_args(shape) if each is not NoneType]
    if get_origin(shape) in (Union, UnionType) and len(inner) == 1 and value is not None:
        return _fitting(inner[0], value)
    if get_origin(shape) is list and isinstance(value, list):
        return list(_each_fitting(inner[0], value))
    if isinstance(shape, type) and issubclass(shape, Struct) and isinstance(value, dict):
        return _fields_fitting(shape, value)
    _shaped(shape, value)
    return value


def _each_fitting(shape: Any, values: list[Any]) -> Iterator[Any]:
    for value in values:
        with suppress(ValueError):
            yield _fitting(shape, value)


def _fields_fitting(shape: type[Struct], value: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in _fields(shape):
        if field.encode_name in value:
            with suppress(ValueError):
                found[field.encode_name] = _fitting(field.type, value[field.encode_name])
        if field.required and field.encode_name not in found:
            raise ValueError(f"without {field.encode_name}")
    return found

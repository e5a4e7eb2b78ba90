"""`[modules.NAME]` of a flow or crawl file: which periodic jobs run, how often, and with which options."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from bowerbird.flows.language.spelling import duration, listed, meant
from bowerbird.flows.language.tables import Table
from bowerbird.model.modules import ModuleOption, Modules, ModuleWords, OptionValue

_SHORTEST = timedelta(seconds=10)
OWN_KEYS = ("every", "on")
"""Of every module, besides its own options."""


class ModuleUse(Struct, frozen=True, kw_only=True):
    """A module that a crawl runs."""

    name: str
    every: timedelta | None = None
    """None: as often as the module itself says."""
    options: dict[str, Any] = {}
    """As they are written."""


def module_uses(table: Table, known: Modules | None, facets: frozenset[str]) -> tuple[ModuleUse, ...]:
    """The `[modules]` of a flow; raises `FlowError` naming the line. `known`: names and options, where they are known."""
    found = []
    for name, inner in table.named("modules"):
        if known is not None and name not in known:
            raise inner.wrong(
                None, f"unknown module {name!r}{meant(name, known)}", f"there are: {listed(known)}", code="unknown_module"
            )
        words = None if known is None else known[name]
        _check(inner, name, words)
        if not inner.truth("on", True):
            continue
        if words is not None and words.needs and facets.isdisjoint(words.needs):
            asked = " or ".join(f"`{facet}`" for facet in words.needs)
            raise inner.wrong(
                None,
                f"the module {name!r} asks for {asked}, and the flow has no such facet",
                "add it, or on = false",
                code="unsupported",
            )
        options = {key: value for key, value in inner.values.items() if key not in OWN_KEYS}
        found.append(ModuleUse(name=name, every=_every(inner), options=options))
    return tuple(found)


def _every(table: Table) -> timedelta | None:
    every = table.span("every")
    if every is not None and every < _SHORTEST:
        raise table.wrong("every", 'every must be at least "10s"')
    return every


def _check(table: Table, name: str, words: ModuleWords | None) -> None:
    if words is None:
        return
    table.only((*OWN_KEYS, *words.options), f"[modules.{name}]")
    for key, option in words.options.items():
        if key in table.values and (problem := _problem(option, table.values[key])):
            raise table.wrong(key, f"{key} {problem}")


def _problem(option: ModuleOption, value: Any) -> str:
    """What is wrong with a value, if something is."""
    kinds: dict[type, tuple[tuple[type, ...], str]] = {
        bool: ((bool,), "must be true or false"),
        int: ((int,), "must be a whole number"),
        float: ((int, float), "must be a number"),
        str: ((str,), "must be a text in quotes"),
        timedelta: ((str,), 'must be a duration, such as "30d"'),
        tuple: ((list, str), "must be a list of texts"),
    }
    right, words = kinds[type(option.default)]
    if not isinstance(value, right) or (isinstance(value, bool) and bool not in right):
        return f"{words}, not {value!r:.60}"
    if isinstance(value, (int, float)) and value < option.least:
        return f"must be at least {option.least:g}, not {value:g}"
    if option.words and value not in option.words:
        return f"must be one of {', '.join(option.words)}, not {value!r:.60}"
    if isinstance(value, list) and not all(isinstance(each, str) for each in value):
        return f"{words}, not {value!r:.60}"
    return _span_problem(str(value)) if isinstance(option.default, timedelta) else ""


def _span_problem(value: Any) -> str:
    try:
        duration(value)
    except ValueError as error:
        return f"is no duration: {error}"
    return ""


def option_values(options: Mapping[str, ModuleOption], written: Mapping[str, Any]) -> dict[str, OptionValue]:
    """Every option of a module with the value that holds: as written, or else as usual."""
    return {name: _value(option, written[name]) if name in written else option.default for name, option in options.items()}


def _value(option: ModuleOption, written: Any) -> OptionValue:
    if isinstance(option.default, timedelta):
        return duration(written)
    if isinstance(option.default, tuple):
        return (written,) if isinstance(written, str) else tuple(written)
    value: OptionValue = float(written) if isinstance(option.default, float) else written
    return value

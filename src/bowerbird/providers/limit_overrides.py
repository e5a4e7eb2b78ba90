"""Limits and page sizes that a crawl file may override, because servers differ."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar

import msgspec

from bowerbird.errors import UserError
from bowerbird.model import Facet, Limit
from bowerbird.providers.base import FacetTable, Provider

Numbers = Mapping[str, int | timedelta]
FacetOverride = Mapping[str, int | timedelta | Numbers]
Overrides = Mapping[str, FacetOverride]
"""By facet (`*` is every facet): its own numbers, `allowance` and `window` of its first limit, or of a limit by name; under
`together` the `allowance` and `window` of a limit of the user's own on all calls to the service."""

TOGETHER = "together"

_FACET_NUMBERS = ("objects_per_call", "results_per_call", "total_results")
_LIMIT_NUMBERS = ("allowance", "window")


P = TypeVar("P", bound=Provider)


def limit_name(limit: Limit) -> str:
    """What an override calls the limit: the last part of its bucket."""
    return limit.bucket.rsplit("/", 1)[-1].replace("{", "").replace("}", "")


def with_limits(provider: P, overrides: Overrides) -> P:
    """The same provider with other numbers; a bucket that facets share changes for all of them."""
    tables = {kind: dict(table) for kind, table in provider.tables.items()}
    for name, numbers in overrides.items():
        if name == TOGETHER:
            continue
        _check_facet(provider, name)
        _check_numbers(provider, name, numbers)
        for table in tables.values():
            for each in list(table) if name == "*" else [name] if name in table else []:
                _override(table, each, numbers)
    if TOGETHER in overrides:
        tables = _limited_together(tables, overrides[TOGETHER])
    return provider.with_tables(tables)


def thrifty(provider: P, most: int) -> P:
    """The same provider with pages and batches so small that no call may cost more, as far as the service has such small ones."""
    tables = {
        kind: {name: thrifty_facet(facet, most) for name, facet in table.items()}
        for kind, table in provider.tables.items()
    }
    return provider.with_tables(tables)


def thrifty_facet(facet: Facet, most: int) -> Facet:
    """A service that bills each result takes no more for two small pages than for a large one."""
    price = max((limit.per_result for limit in facet.limits if limit.is_money), default=0)
    if not price:
        return facet
    size = max(1, facet.smallest_page, most // price)
    return msgspec.structs.replace(
        facet,
        results_per_call=min(facet.results_per_call, size),
        objects_per_call=min(facet.objects_per_call, size),
    )


def _limited_together(
    tables: Mapping[str, FacetTable], numbers: FacetOverride
) -> dict[str, dict[str, Facet]]:
    """The tables with one more limit, last because the first one is the facet's own: it counts the calls of all facets."""
    if set(numbers) != set(_LIMIT_NUMBERS):
        raise UserError(
            f"limits of {TOGETHER}",
            "write both allowance and window, and nothing else",
            code="missing_value",
        )
    limit = Limit(
        bucket=f"{{service}}/{TOGETHER}",
        allowance=_positive(TOGETHER, "allowance", numbers["allowance"]),
        window=_duration(TOGETHER, numbers["window"]),
    )
    return {
        kind: {
            name: msgspec.structs.replace(facet, limits=(*facet.limits, limit))
            for name, facet in table.items()
        }
        for kind, table in tables.items()
    }


def _check_facet(provider: Provider, name: str) -> None:
    if name != "*" and name not in provider.facets:
        raise UserError(
            f"limits of {provider.name}: there is no facet {name!r}",
            f"write * or one of {', '.join(provider.facets)}",
            code="unknown_name",
        )


def _check_numbers(provider: Provider, name: str, numbers: FacetOverride) -> None:
    facets = [
        facet
        for table in provider.tables.values()
        for facet in table.values()
        if name in ("*", facet.name)
    ]
    named = dict.fromkeys(limit_name(limit) for facet in facets for limit in facet.limits)
    for key, value in numbers.items():
        if key == "money":
            raise UserError(
                "what may be spent is told in dollars", "write dollars = 10 under [service]"
            )
        if isinstance(value, Mapping) and key not in named:
            raise UserError(
                f"limits of {name}: there is no limit {key!r}",
                f"it has {', '.join(named)}",
                code="unknown_name",
            )
        if not isinstance(value, Mapping) and key not in _FACET_NUMBERS + _LIMIT_NUMBERS:
            raise UserError(
                f"limits of {name}: {key!r} is not known",
                f"write {', '.join(_FACET_NUMBERS + _LIMIT_NUMBERS)}",
                code="unknown_key",
            )


def _override(table: dict[str, Facet], name: str, numbers: FacetOverride) -> None:
    for key, value in numbers.items():
        facet = table[name]
        if isinstance(value, Mapping):
            _set_limit(table, facet, key, value)
        elif key in _FACET_NUMBERS:
            table[name] = msgspec.structs.replace(facet, **{key: _positive(name, key, value)})
        else:
            _set_limit(table, facet, limit_name(facet.limits[0]), {key: value})


def _set_limit(table: dict[str, Facet], facet: Facet, called: str, numbers: Numbers) -> None:
    for limit in (limit for limit in facet.limits if limit_name(limit) == called):
        changed = _changed(facet.name, limit, numbers)
        sharing = [facet.name] if "{facet}" in limit.bucket else list(table)
        for name in sharing:
            limits = tuple(
                changed if each.bucket == limit.bucket else each for each in table[name].limits
            )
            table[name] = msgspec.structs.replace(table[name], limits=limits)


def _changed(facet: str, limit: Limit, numbers: Numbers) -> Limit:
    unknown = set(numbers) - set(_LIMIT_NUMBERS)
    if unknown:
        raise UserError(
            f"limits of {facet}: {', '.join(sorted(unknown))} is not known",
            "write allowance or window",
            code="unknown_key",
        )
    changed = limit
    if "allowance" in numbers:
        wanted = _positive(facet, "allowance", numbers["allowance"])
        published = limit.published or limit.allowance
        changed = msgspec.structs.replace(
            changed, allowance=wanted, published=published if wanted < published else None
        )
    if "window" in numbers:
        changed = msgspec.structs.replace(changed, window=_duration(facet, numbers["window"]))
    return changed


def _duration(facet: str, value: object) -> timedelta:
    """A window; a bare number out of a TOML file counts seconds."""
    if isinstance(value, timedelta) and value > timedelta(0):
        return value
    return timedelta(seconds=_positive(facet, "window", value))


def _positive(facet: str, key: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise UserError(f"limits of {facet}: {key} is {value!r}", "write a whole number above 0")

"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from bowerbird.errors import UserError
from bowerbird.policies.keywords.baseline import Baseline
from bowerbird.policies.keywords.colift import Colift
from bowerbird.policies.keywords.rkwa import Rkwa
from bowerbird.policies.keywords.rkwa_auto import RkwaAuto
from bowerbird.policies.keywords.skwa import Skwa
from bowerbird.policies.keywords.values import Method

_MAKERS: Mapping[str, Callable[..., Method]] = {
    "baseline": Baseline,
    "skwa": Skwa,
    "rkwa": Rkwa,
    "rkwa_auto": RkwaAuto,
    "colift": Colift,
}
_OPTIONS: Mapping[str, frozenset[str]] = {
    "rkwa": frozenset({"thres1", "thres2", "reading"}),
    "rkwa_auto": frozenset({"reading"}),
    "colift": frozenset({"precision", "words"}),
}

METHODS: Mapping[str, frozenset[str]] = MappingProxyType({name: _OPTIONS.get(name, frozenset()) for name in _MAKERS})
"""Every method's name and the options it knows."""


def method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method of that name; raises `UserError` for an unknown name or option."""
    if name not in _MAKERS:
        raise UserError(f"There is no method {name!r} of keyword adaptation; choose one of {', '.join(_MAKERS)}.")
    for option in options or {}:
        if option not in METHODS[name]:
            known = ", ".join(sorted(METHODS[name])) or "none"
            raise UserError(f"The method {name!r} has no option {option!r}; it knows {known}.")
    return _MAKERS[name](**(options or {}))

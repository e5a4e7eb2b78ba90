"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from bowerbird.errors import UserError
from bowerbird.model.subjects.keywords import MethodOption, Methods
from bowerbird.policies.keywords.methods.baseline import Baseline
from bowerbird.policies.keywords.methods.colift import Colift
from bowerbird.policies.keywords.methods.rkwa import READINGS, Rkwa
from bowerbird.policies.keywords.methods.rkwa_auto import RkwaAuto
from bowerbird.policies.keywords.methods.skwa import Skwa
from bowerbird.policies.keywords.values import Method

_MAKERS: Mapping[str, Callable[..., Method]] = {
    "baseline": Baseline,
    "skwa": Skwa,
    "rkwa": Rkwa,
    "rkwa_auto": RkwaAuto,
    "colift": Colift,
}
_CORRELATION = MethodOption(between=(-1, 1))
_READING = MethodOption(words=tuple(READINGS))
_OPTIONS: Methods = {
    "rkwa": {"thres1": _CORRELATION, "thres2": _CORRELATION, "reading": _READING},
    "rkwa_auto": {"reading": _READING},
    "colift": {"precision": MethodOption(between=(0, 1)), "words": MethodOption()},
}

METHODS: Methods = MappingProxyType({name: _OPTIONS.get(name, {}) for name in _MAKERS})
"""Every method's name and the options it knows."""

ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "baseline": "the seeds and nothing else",
        "skwa": "simple keyword adaptation: besides the seeds, the most frequent hashtags of what was collected",
        "rkwa": "refined keyword adaptation: of the hashtags of skwa those whose traffic goes up and down with that of the seeds",
        "rkwa_auto": "rkwa that chooses in every frame how closely traffic must go together",
        "colift": "our own: hashtags and words whose posts look like the event, by searches and by posts that nobody chose",
    }
)
"""What each method follows, in a few words for those who see its name on a page."""


def method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """The method of that name; raises `UserError` for an unknown name or option, or a value that it cannot have."""
    if name not in _MAKERS:
        raise UserError(f"There is no method {name!r} of keyword adaptation; choose one of {', '.join(_MAKERS)}.")
    for option, value in (options or {}).items():
        if option not in METHODS[name]:
            known = ", ".join(sorted(METHODS[name])) or "none"
            raise UserError(f"The method {name!r} has no option {option!r}; it knows {known}.")
        if problem := METHODS[name][option].problem(value):
            raise UserError(f"The option {option!r} of the method {name!r} {problem}.")
    return _MAKERS[name](**(options or {}))

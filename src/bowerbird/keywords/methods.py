"""The methods by name, with their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from bowerbird.errors import UserError
from bowerbird.keywords.published import READINGS, Baseline, Naive, Rkwa, Skwa
from bowerbird.keywords.values import Method
from bowerbird.model.subjects.keywords import MethodOption, Methods


def _make_burst(**options: Any) -> Method:
    # numpy takes longer to load than most commands take to run.
    from bowerbird.keywords.burst import Burst

    return Burst(**options)


_CLASSES: Mapping[str, Callable[..., Method]] = {
    "baseline": Baseline,
    "skwa": Skwa,
    "rkwa": Rkwa,
    "naive": Naive,
    "burst": _make_burst,
}
_CORRELATION = MethodOption(between=(-1, 1))

METHODS: Methods = MappingProxyType(
    {
        "baseline": {},
        "skwa": {},
        "rkwa": {
            "thres1": _CORRELATION,
            "thres2": _CORRELATION,
            "reading": MethodOption(words=tuple(READINGS)),
        },
        "naive": {},
        "burst": {"precision": MethodOption(between=(0, 1)), "words": MethodOption()},
    }
)
"""The options of each method, by name."""

ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "baseline": "the seeds and nothing else",
        "skwa": "simple keyword adaptation: the seeds and the most frequent hashtags of collected posts",
        "rkwa": "refined keyword adaptation: hashtags of skwa whose traffic follows that of the seeds",
        "naive": "the seeds and every hashtag that occurs four times in a day",
        "burst": "the seeds and the hashtags and words that burst in posts that look like the event",
    }
)
"""A description of each method, for pages and help texts."""


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """Return a method; raises `UserError` for an unknown name or option and for invalid values."""
    if name not in METHODS:
        raise UserError(f"Unknown keyword method {name!r}. Choose one of {', '.join(METHODS)}.")
    for option, value in (options or {}).items():
        if option not in METHODS[name]:
            known = ", ".join(sorted(METHODS[name])) or "none"
            raise UserError(f"Unknown option {option!r} of method {name!r}. Its options: {known}.")
        if problem := METHODS[name][option].problem(value):
            raise UserError(f"The option {option!r} of the method {name!r} {problem}.")
    return _CLASSES[name](**(options or {}))

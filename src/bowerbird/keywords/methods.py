"""The methods by name: their options, and what they do, for pages and help texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bowerbird.errors import UserError
from bowerbird.keywords.published import READINGS, baseline, naive, rkwa, skwa
from bowerbird.keywords.values import Decision, Method
from bowerbird.model.subjects.keywords import MethodOption, Methods

_PUBLISHED: Mapping[str, Callable[..., Decision]] = {"baseline": baseline, "skwa": skwa, "rkwa": rkwa, "naive": naive}
_CORRELATION = MethodOption(between=(-1, 1))

METHODS: Methods = {
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

ABOUT: Mapping[str, str] = {
    "baseline": "the seeds and nothing else",
    "skwa": "simple keyword adaptation: the seeds and the most frequent hashtags of collected posts",
    "rkwa": "refined keyword adaptation: hashtags of skwa whose traffic follows that of the seeds",
    "naive": "the seeds and every hashtag that occurs four times in a day",
    "burst": "the seeds and the hashtags and words that burst in posts that look like the event",
}


def make_method(name: str, options: Mapping[str, Any] | None = None) -> Method:
    """Return a method with options that its entry in `METHODS` allows; raises `UserError` for an unknown name."""
    if name not in METHODS:
        raise UserError(f"Unknown keyword method {name!r}.", f"Choose one of {', '.join(METHODS)}.", code="unknown_name")
    if name == "burst":
        # numpy takes longer to load than most commands take to run.
        from bowerbird.keywords.burst import Burst

        return Burst(**(options or {})).decide
    return partial(_PUBLISHED[name], **(options or {}))

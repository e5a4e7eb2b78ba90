"""The one-line commands, as Typer reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bowerbird.cli import collect_garbage
from bowerbird.cli.everyday.options import (
    CONSENT,
    GRANULARITY,
    LANGUAGE,
    LIMIT,
    LIMIT_ALL,
    LIMIT_INPUTS,
    NETWORK,
    OUTPUT,
    RAW,
    SOURCE,
    SPAN,
    TIMES,
    Options,
    inputs,
    one_input,
    with_options,
)
from bowerbird.cli.everyday.wishes import Wish

_ENDS = """

    Ctrl-C ends it in order, and the same command goes on. Exit codes: 0 done, 2 something you can change, 3 failed, 130 after
    Ctrl-C."""


def _command(name: str, doc: str, *groups: Options) -> Callable[..., None]:
    def run(values: Mapping[str, Any]) -> None:
        # Loaded when it runs: help needs none of it.
        from bowerbird.cli.everyday.steps import carry_out

        collect_garbage()
        carry_out(_wish(name, values))

    return with_options(run, doc + _ENDS, *groups, NETWORK, CONSENT, OUTPUT)


def _wish(name: str, values: Mapping[str, Any]) -> Wish:
    written = values.get("inputs")
    texts = (written,) if isinstance(written, str) else tuple(written or ())
    languages = tuple(each.lower() for each in values.get("languages") or ())
    override = tuple(values.get("override") or ())
    return Wish(command=name, **{**values, "inputs": texts, "languages": languages, "override": override})


_ACCOUNT = "A handle, an id or the address of a profile."
_POST = "An id or the address of a post; - reads them from standard input."
_WORD = "Words, or a #hashtag."
_TIMELINE = (TIMES, LANGUAGE, LIMIT, RAW)

COMMANDS: Mapping[str, Callable[..., None]] = {
    "timeline": _command("timeline", "Posts of an account, the newest first.", one_input("ACCOUNT", _ACCOUNT), *_TIMELINE),
    "timelines": _command("timeline", "Posts of many accounts.", inputs("ACCOUNT", _ACCOUNT), SOURCE, *_TIMELINE),
    "followers": _command("followers", "Who follows an account: one row for each.", inputs("ACCOUNT", _ACCOUNT), SOURCE, LIMIT),
    "following": _command("following", "Whom an account follows: one row for each.", inputs("ACCOUNT", _ACCOUNT), SOURCE, LIMIT),
    "users": _command("users", "Profiles of accounts.", inputs("ACCOUNT", _ACCOUNT), SOURCE, LIMIT_INPUTS, RAW),
    "search": _command("search", "Posts with words or a hashtag, the newest first.", one_input("QUERY", _WORD), *_TIMELINE),
    "searches": _command("search", "Posts for many queries.", inputs("QUERY", _WORD), SOURCE, *_TIMELINE),
    "hydrate": _command("hydrate", "Posts of which the ids are known.", inputs("POST", _POST), SOURCE, LIMIT_INPUTS, RAW),
    "thread": _command("thread", "The conversation around a post.", inputs("POST", _POST), SOURCE, LIMIT, RAW),
    "reposts": _command("reposts", "Who passed a post on.", inputs("POST", _POST), SOURCE, LIMIT),
    "stream": _command(
        "stream", "Posts as they are written.", inputs("WORD", "Words, #hashtags or @accounts."), LANGUAGE, LIMIT_ALL, SPAN, RAW
    ),
    "trends": _command("trends", "What a network says is popular now.", inputs("ABOUT", "Of what; usually left out."), LIMIT),
    "counts": _command(
        "counts", "How many posts there are for a query, day by day.", inputs("QUERY", _WORD), SOURCE, TIMES, GRANULARITY
    ),
}

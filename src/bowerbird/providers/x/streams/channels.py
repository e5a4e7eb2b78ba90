"""The streams of the X API v2: data, and what a person may ask of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import msgspec

from bowerbird.errors import UserError
from bowerbird.model import Channel, Facet, Limit, Subject, Subscription, WindowKind
from bowerbird.providers.streaming import Values, at_most, number, subscribe
from bowerbird.providers.x.facets import paid_posts
from bowerbird.providers.x_shared import any_of, line_channel

_SILENCE = timedelta(seconds=25)
"""An empty line comes every 20 seconds; the rest is for the way."""
LATEST = timedelta(seconds=10)
"""Posts come in no order; 99 of 100 within 7 seconds."""
_ALLOWED = {"filter": 50, "sample": 50, "sample10": 100}
"""Connections per 15 minutes. Each may take two changes of the rules, and so 50 stay within the 100 that those have."""
_RESERVE = 1_000
"""Posts for which there must be room before a connection is opened, and while it lives: half of them for what is on its way when
the rest is used up."""
_BACKFILL = {"backfill_minutes": "how many minutes before the connection to hear again, up to 5, where the plan has it"}
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "filter": {"rules": "what to hear: rules as the network writes them, or `tag: rule`", **_BACKFILL},
    "sample": _BACKFILL,
    "sample10": {"partition": "which half of the sample to hear: 1 or 2", **_BACKFILL},
}
_NEEDS = {"filter": frozenset({"rules"}), "sample10": frozenset({"partition"})}

_MOST_RULES, _LONGEST_RULE, _LONGEST_TAG, _LONGEST_QUERY = 1_000, 1_024, 60, 512
_TAGGED = re.compile(r"([\w-]+):\s+(\S.*)", re.DOTALL)


def _before(name: str, allowance: int, calls: int) -> Limit:
    bucket = f"{{service}}/app:{{app}}/{name}"
    return Limit(bucket=bucket, allowance=allowance, window=timedelta(minutes=15), kind=WindowKind.FIRST_CALL, per_call=calls)


_RULES = (_before("rules", 450, 9), _before("rule_changes", 100, 2))
"""What may be sent before a filtered stream opens: pages of a thousand rules are read, some are deleted, some added."""


_CHANGE = (_before("rules", 450, 9), _before("rule_changes", 100, 3))
"""The same while a stream is open, where what is told by another tag is deleted before and the rest after."""


def _channel(name: str) -> Channel:
    window = Limit(
        bucket="{service}/app:{app}/{facet}",
        allowance=_ALLOWED[name],
        window=timedelta(minutes=15),
        kind=WindowKind.FIRST_CALL,
    )
    facet = Facet(name=name, subject=Subject.WORD, yields=frozenset({"users", "posts"}), results_per_call=_RESERVE)
    facet = msgspec.structs.replace(facet, limits=(window, *paid_posts(facet), *(_RULES if name == "filter" else ())))
    plain = line_channel(facet, _OPTIONS[name], _SILENCE, "search" if name == "filter" else "")
    change = _CHANGE if name == "filter" else ()
    return msgspec.structs.replace(
        plain, needs=_NEEDS.get(name, frozenset()), kinds=frozenset({"app"}), disorder=LATEST, change=change
    )


CHANNELS: Mapping[str, Channel] = {name: _channel(name) for name in _ALLOWED}


def tag_and_rule(written: str) -> tuple[str, str]:
    """The two parts of `tag: rule`; the network's own operators (`from:alice`) have no space after the colon."""
    found = _TAGGED.fullmatch(written)
    return (found[1], found[2]) if found else ("", written)


def _rules(channel: str, values: Values) -> Values:
    for value in values:
        tag, rule = tag_and_rule(value)
        if not 0 < len(rule) <= _LONGEST_RULE:
            raise UserError(
                f"stream {channel}: the rule {rule[:60]!r} has {len(rule)} characters", f"write 1 to {_LONGEST_RULE:,}"
            )
        if len(tag) > _LONGEST_TAG:
            raise UserError(f"stream {channel}: the tag {tag[:60]!r} is longer than {_LONGEST_TAG} characters")
    rules = [tag_and_rule(value)[1] for value in values]
    for rule in rules:
        if rules.count(rule) > 1:
            raise UserError(
                f"stream {channel}: the rule {rule[:60]!r} is there twice", "the network takes it once", code="already_exists"
            )
    return at_most(channel, "rules", values, _MOST_RULES)


DESK = partial(
    subscribe,
    CHANNELS,
    {"rules": _rules, "backfill_minutes": number("backfill_minutes", 0, 5), "partition": number("partition", 1, 2)},
)


def fill_targets(wanted: Subscription) -> tuple[str, ...]:
    """All rules as searches, as few as may hold them."""
    rules = [tag_and_rule(value)[1] for value in wanted.options.get("rules", ())]
    return any_of(rules, _LONGEST_QUERY)

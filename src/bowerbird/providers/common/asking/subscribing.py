"""From what a person wrote to a subscription: the part that is the same for every network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bowerbird.errors import UserError
from bowerbird.model import Channel, Subscription

Values = tuple[str, ...]
Check = Callable[[str, Values], Values]
"""Takes the channel's name and what was written for one option; answers the values meant, or raises `UserError`."""


class Desk:
    """Takes subscriptions to the channels of one network."""

    def __init__(self, channels: Mapping[str, Channel], checks: Mapping[str, Check]) -> None:
        self._channels, self._checks = channels, checks

    def subscription(self, name: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        """The subscription with every option checked; what was written twice counts once."""
        if name not in self._channels:
            raise UserError(f"there is no stream {name!r}; write one of {', '.join(self._channels)}")
        known = self._channels[name].options
        for unknown in sorted(set(options) - set(known)):
            raise UserError(f"stream {name} has no option {unknown!r}; it has {', '.join(known) or 'none'}")
        checked = {key: self._checks[key](name, _once(values)) for key, values in options.items() if values}
        for missing in sorted(self._channels[name].needs - set(checked)):
            raise UserError(f"stream {name} needs {missing}: {known[missing]}")
        return Subscription(channel=name, options=checked)


def _once(values: Sequence[str]) -> Values:
    return tuple(dict.fromkeys(value.strip() for value in values))


def single(channel: str, option: str, values: Values) -> str:
    """The one value of an option that cannot have several."""
    if len(values) != 1:
        raise UserError(f"stream {channel}: {option} has {len(values)} values; write one")
    return values[0]


def flag(option: str) -> Check:
    """The check of an option that is true or false."""

    def check(channel: str, values: Values) -> Values:
        value = single(channel, option, values).casefold()
        if value not in ("true", "false"):
            raise UserError(f"stream {channel}: {option} is {value!r}; write true or false")
        return (value,)

    return check


def number(option: str, least: int, most: int) -> Check:
    """The check of an option that is a whole number within bounds."""

    def check(channel: str, values: Values) -> Values:
        value = single(channel, option, values)
        if not (value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most):
            raise UserError(f"stream {channel}: {option} is {value!r}; write a whole number from {least} to {most}")
        return (str(int(value)),)

    return check


def at_most(channel: str, option: str, values: Values, most: int) -> Values:
    """The values, unless they are more than the network takes on one connection."""
    if len(values) > most:
        raise UserError(f"stream {channel}: {len(values)} {option} are more than the {most:,} it takes; split them over streams")
    return values


def chosen(wanted: Subscription, option: str) -> str:
    """The one value of an option; empty when nothing was said."""
    return next(iter(wanted.options.get(option, ())), "")

"""What a Weibo post id tells: when it was made, and how it is written in addresses (pure)."""

from __future__ import annotations

from datetime import datetime, timedelta

from bowerbird.model import EPOCH

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_GROUP, _WIDTH = 10**7, 4
_OFFSET = 515_483_463
"""Seconds between the Unix epoch and that of post ids."""
_FIRST_TIMED = 1_306_886_400
"""June 2011: the ids before it are plain counters."""
_LARGEST = 2**63


def made_at(key: str) -> datetime | None:
    """When the service made the id, to the second; None for the counters of the first two years."""
    if not key.isascii() or not key.isdigit() or not 0 < (number := int(key[:20])) < _LARGEST:
        return None
    seconds = (number >> 22) + _OFFSET
    return EPOCH + timedelta(seconds=seconds) if _FIRST_TIMED <= seconds < 1 << 33 else None


def latest_key(at: datetime) -> int:
    """The highest id that can have been made by then."""
    return (int((at - EPOCH).total_seconds()) - _OFFSET + 1) << 22


def to_mid(key: str) -> str:
    """The short form used in addresses: groups of seven digits from the right, each in base 62."""
    number, groups = int(key), []
    while True:
        number, rest = divmod(number, _GROUP)
        groups.append(_written(rest))
        if not number:
            break
    return "".join([groups[-1], *(group.rjust(_WIDTH, "0") for group in groups[-2::-1])])


def from_mid(mid: str) -> str | None:
    """The id that a short form stands for; None if it is none."""
    number = 0
    for start in range(len(mid) % _WIDTH - _WIDTH if len(mid) % _WIDTH else 0, len(mid), _WIDTH):
        value = _read(mid[max(start, 0) : start + _WIDTH])
        if value is None or value >= _GROUP:
            return None
        number = number * _GROUP + value
    return str(number) if 0 < number < _LARGEST else None


def _written(value: int) -> str:
    text = _DIGITS[value % 62]
    while value := value // 62:
        text = _DIGITS[value % 62] + text
    return text


def _read(text: str) -> int | None:
    value = 0
    for digit in text:
        if digit not in _VALUES:
            return None
        value = value * 62 + _VALUES[digit]
    return value

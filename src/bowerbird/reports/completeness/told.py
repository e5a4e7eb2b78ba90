"""Whose items were told already, where several crawls or services want the same."""

from __future__ import annotations

from collections import defaultdict


class Told:
    """One bit for each account and kind of item: so little that millions fit."""

    def __init__(self) -> None:
        self._accounts: defaultdict[str, bytearray] = defaultdict(bytearray)
        self._strangers: set[tuple[str, str]] = set()

    def again(self, items: str, user_no: int | None, target: str) -> bool:
        """Whether these items of this account were told before; from now on they were."""
        if user_no is None:
            return self._stranger(items, target)
        bits, byte, bit = self._accounts[items], user_no >> 3, 1 << (user_no & 7)
        if byte >= len(bits):
            bits.extend(bytes(byte + 1 - len(bits)))
        was_told = bool(bits[byte] & bit)
        bits[byte] |= bit
        return was_told

    def _stranger(self, items: str, target: str) -> bool:
        was_told = (items, target) in self._strangers
        self._strangers.add((items, target))
        return was_told

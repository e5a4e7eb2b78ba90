"""Cuts messages out of the bytes of a long HTTP answer: one per line, or one per server-sent event. Pure."""

from __future__ import annotations

SIGN_OF_LIFE = b""


class OverlongError(ValueError):
    """A message does not end within the bound."""


class Lines:
    """One message per line; an empty line only shows that the connection lives."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._begun: list[bytes] = []
        self._size = 0

    def cut(self, chunk: bytes) -> list[bytes]:
        """The messages that end in this chunk; what is left over waits for the next one."""
        first, *rest = chunk.split(b"\n")
        if not rest:
            self._keep(first)
            return []
        whole = [b"".join((*self._begun, first)), *rest[:-1]]
        self._begun, self._size = [], 0
        self._keep(rest[-1])
        return [line.removesuffix(b"\r") for line in whole]

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._most:
            raise OverlongError(f"a message does not end within {self._most} bytes")
        if piece:
            self._begun.append(piece)


class Events:
    """One message per server-sent event, its lines joined without comments; a comment alone is a sign of life."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines = Lines(most)
        self._event: list[bytes] = []
        self._size = 0

    def cut(self, chunk: bytes) -> list[bytes]:
        messages = []
        for line in self._lines.cut(chunk):
            if line:
                self._add(line)
            else:
                messages.append(b"\n".join(self._event))
                self._event, self._size = [], 0
        return messages

    def _add(self, line: bytes) -> None:
        if line.startswith(b":"):
            return
        self._size += len(line) + 1
        if self._size > self._most:
            raise OverlongError(f"an event does not end within {self._most} bytes")
        self._event.append(line)

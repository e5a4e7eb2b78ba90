"""What follows the end of a transaction in memory: nothing there may say that something happened which the database undid."""

from __future__ import annotations

from collections.abc import Callable


class Hooks:
    """What was asked for while one transaction ran: either all of one kind is called or all of the other, once."""

    def __init__(self) -> None:
        self._after_commit: list[Callable[[], object]] = []
        self._on_rollback: list[Callable[[], object]] = []

    def after_commit(self, then: Callable[[], object]) -> None:
        self._after_commit.append(then)

    def on_rollback(self, undo: Callable[[], object]) -> None:
        self._on_rollback.append(undo)

    def committed(self) -> None:
        """To be called when it is committed, before anybody else hears of it."""
        self._on_rollback.clear()
        _call(self._after_commit[::-1])

    def rolled_back(self) -> None:
        """To be called when nothing of it happened, the last undone first."""
        self._after_commit.clear()
        _call(self._on_rollback)


def _call(hooks: list[Callable[[], object]]) -> None:
    """Calls them from the last to the first: all of them, even if one breaks."""
    while hooks:
        try:
            hooks.pop()()
        except BaseException:
            _call(hooks)
            raise

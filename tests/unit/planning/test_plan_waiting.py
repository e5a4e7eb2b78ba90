"""Who waits for a plan is told what for."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import timedelta

from bowerbird.planning.plan import patiently


def test_who_waits_for_rehearsals_is_told_how_many_are_done() -> None:
    done, open_ = Future[int](), Future[int]()
    done.set_result(1)
    told: list[str] = []

    def say(words: str) -> None:
        told.append(words)
        open_.set_result(2)

    patiently([done, open_], say, "worlds of 20,000 accounts", timedelta(milliseconds=1))
    patiently([done, open_], say, "nothing")
    assert [words.strip().partition(",")[0] for words in told] == ["1 of 2 done"]
    assert "worlds of 20,000 accounts" in told[0]

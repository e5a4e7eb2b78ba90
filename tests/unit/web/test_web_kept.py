"""Answers that are kept: when they are asked anew, and who waits for that."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.web.answers.kept import Kept
from bowerbird.web.formats import in_path
from bowerbird.web.pages.community.kept import Kept as Counts

START = datetime(2026, 5, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_what_is_old_is_told_at_once_and_made_anew_beside() -> None:
    asked: list[str] = []

    async def ask(about: str) -> int:
        asked.append(about)
        await asyncio.sleep(0.1)
        return len(asked)

    async def main(clock: VirtualClock) -> None:
        kept = Kept(clock, SECOND, ask)
        first = await kept.at_once("a")
        assert (first.value, first.at) == (1, START)
        await clock.sleep_until(START + 5 * SECOND)
        assert [(await kept.at_once("a")).value for _ in range(3)] == [1, 1, 1], "nobody waits"
        await clock.sleep_until(START + 5.5 * SECOND)
        newer = await kept.at_once("a")
        assert (newer.value, newer.at, len(asked)) == (2, START + 5 * SECOND, 2), "made once for all three"
        await clock.sleep_until(START + timedelta(minutes=3))
        assert (await kept.at_once("a")).value == 3, "what is too old is not shown"

    run_virtual(main, start=START)


def test_what_cannot_be_made_anew_stands_with_its_age(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    async def ask(about: str) -> int:
        asked.append(about)
        if len(asked) == 2:
            raise OSError("away")
        return len(asked)

    async def main(clock: VirtualClock) -> None:
        kept = Kept(clock, SECOND, ask)
        await kept.at_once("a")
        await clock.sleep_until(START + 2 * SECOND)
        await kept.at_once("a")
        await clock.sleep_until(START + 3 * SECOND)
        assert (await kept.at_once("a")).at == START
        await clock.sleep_until(START + 4 * SECOND)
        assert (await kept.at_once("a")).value == 3

    run_virtual(main, start=START)
    assert "'a'" in caplog.text
    assert "OSError: 'away'" in caplog.text


@pytest.mark.parametrize("text", ["plain-id_1.~", "https://a.example/@b?c=d&e#f%20 +\"'<>\\\x00\x7f", "é/日本", ""])
def test_parts_of_addresses_are_quoted_as_the_library_would(text: str) -> None:
    assert in_path(text) == quote(text, safe="")


def test_an_old_count_is_shown_while_a_newer_is_made_and_a_failure_is_not_repeated_at_once() -> None:
    asked: list[str] = []

    async def count(name: str) -> int:
        asked.append(name)
        await asyncio.sleep(0.1)
        if len(asked) == 2:
            raise UserError("it took too long")
        return len(asked)

    async def main(clock: VirtualClock) -> None:
        kept = Counts(clock, count)
        await kept.read("a")
        assert not kept.is_making("a")
        await clock.sleep_until(START + timedelta(minutes=12))
        old = await kept.read("a")
        assert old is not None
        assert (old.value, kept.is_making("a")) == (1, True)
        await clock.sleep_until(START + timedelta(minutes=13))
        await kept.read("a")
        assert (len(asked), kept.is_making("a")) == (2, False), "it failed, and rests for a while"

    run_virtual(main, start=START)

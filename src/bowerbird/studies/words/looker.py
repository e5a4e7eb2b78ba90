"""Looks through the posts for studies that wait, one after the other, each in one process."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from random import Random
from secrets import randbits

import msgspec

from bowerbird.clock import to_micros
from bowerbird.errors import Busy, DiskFull, Fenced
from bowerbird.model import StudyState
from bowerbird.ports import Clock, Database
from bowerbird.reports.words.looking import Looked, look_through
from bowerbird.reports.words.reading import Study, read_study

_HOLD = timedelta(minutes=1)
_SIGN = timedelta(seconds=1)
"""How often it is written down how far a look is."""
# What it still holds itself, it could not end: it is taken again at once.
_FREE = f"state = '{StudyState.WAITING}' and (held_until <= ? or token = ?)"
_NEXT = f"select study from word_studies where {_FREE} order by study limit 1"
_TAKE = f"update word_studies set token = ?, held_until = ? where study = ? and {_FREE}"
_ADVANCE = "update word_studies set through = ?, top = ?, held_until = ? where study = ? and token = ?"
_END = f"""
update word_studies set state = '{StudyState.DONE}', result = ?, spellings = ?, ended_at = ?, held_until = 0, through = top
where study = ? and token = ?
"""
_FAILED = f"""
update word_studies set state = '{StudyState.FAILED}', error = ?, ended_at = ?, held_until = 0 where study = ? and token = ?
"""
_OLD_SAMPLE = "delete from word_study_posts where study = ?"
# Drawn a moment ago: what was deleted since is not put back.
_SAMPLE = """
insert into word_study_posts (study, place, post_no)
select ?, ?, post_no from posts where post_no = ? and deleted_at is null
"""


class Looker:
    """Ends the studies of a store."""

    def __init__(self, database: Database, clock: Clock, *, rest: float = 1.0) -> None:
        """`rest`: how long it rests after each look at some posts, as a multiple of what that took."""
        self._database = database
        self._clock = clock
        self._rest = rest
        self._token = randbits(62)

    async def run_next(self) -> int | None:
        """Ends the study that waits longest; its number, or None where none does. Raises `Busy` and `DiskFull`: the study goes
        on waiting then, for whoever tries again."""
        study = await self._take()
        if study is None:
            return None
        try:
            looked = await self._look(study)
            await self._keep(study, looked)
        except Fenced:
            pass
        except (Busy, DiskFull):
            raise
        except Exception as error:
            await self._fail(study, f"{type(error).__name__}: {error}")
        return study.number

    async def _take(self) -> Study | None:
        now = self._clock.now()
        free, until = (to_micros(now), self._token), to_micros(now + _HOLD)
        async with self._database.transaction() as tx:
            row = await tx.fetch_one(_NEXT, *free)
            if row is None or not await tx.execute(_TAKE, self._token, until, row["study"], *free):
                return None
            return await read_study(tx, row["study"])

    async def _look(self, study: Study) -> Looked:
        told = self._clock.now()
        began = self._clock.stopwatch()

        async def said(through: int, top: int) -> None:
            nonlocal told, began
            if self._clock.now() - told >= _SIGN or through >= top:
                told = self._clock.now()
                # What was looked through so far is worth more than to have told how far that is.
                with suppress(Busy):
                    await self._advance(study.number, through, top)
            took = self._clock.stopwatch() - began
            await self._clock.sleep_until(self._clock.now() + timedelta(seconds=took * self._rest))
            began = self._clock.stopwatch()

        # The same study draws the same sample, as long as the posts are the same.
        return await look_through(self._database, study.wanted, Random(study.number), said)  # noqa: S311 a sample, no secret

    async def _advance(self, study: int, through: int, top: int) -> None:
        async with self._database.transaction() as tx:
            until = to_micros(self._clock.now() + _HOLD)
            if await tx.execute(_ADVANCE, through, top, until, study, self._token) != 1:
                raise Fenced("the study was changed meanwhile, or is looked through by another process")

    async def _keep(self, study: Study, looked: Looked) -> None:
        found, spellings = (msgspec.json.encode(each).decode() for each in (looked.found, looked.spellings))
        async with self._database.transaction() as tx:
            now = to_micros(self._clock.now())
            if await tx.execute(_END, found, spellings, now, study.number, self._token) != 1:
                raise Fenced("the study was changed meanwhile")
            await tx.execute(_OLD_SAMPLE, study.number)
            rows = [(study.number, place, post) for place, post in enumerate(looked.sample)]
            for row in rows:
                await tx.execute(_SAMPLE, *row)

    async def _fail(self, study: Study, why: str) -> None:
        async with self._database.transaction() as tx:
            await tx.execute(_FAILED, why.replace("\0", "")[:300], to_micros(self._clock.now()), study.number, self._token)

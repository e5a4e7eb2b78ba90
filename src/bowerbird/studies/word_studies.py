"""Studies of words: how often posts mention them over time.

A study is created in the database and waits. `StudyRunner` reads all posts in the background, one study at a time and each in
one process, and saves the counts, near spellings and a random sample. People label the sample and add a series to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from secrets import randbits

import msgspec
from msgspec import Struct

from bowerbird.analysis.agreement import LABELS
from bowerbird.analysis.word_search import MAX_WORD_LENGTH, MAX_WORDS, clean_words
from bowerbird.clock import to_micros
from bowerbird.errors import Busy, DiskFull, Fenced, UserError
from bowerbird.model import StudyState
from bowerbird.ports import Clock, Database, Transaction
from bowerbird.reports.words.looking import Looked, Wanted, look_through
from bowerbird.reports.words.reading import Study, micros, read_study

_MAX_NAME_LENGTH = 100
_CREATE = f"""
insert into word_studies (name, words, unit, since, until, who, made_at, state)
values (?, ?, ?, ?, ?, ?, ?, '{StudyState.WAITING}')
returning study
"""
_RESTART = f"""
update word_studies set words = ?, state = '{StudyState.WAITING}', token = 0, held_until = 0, through = 0, error = null
where study = ?
"""
_SET_SERIES = "update word_studies set series_name = ?, series = ? where study = ?"
_IN_SAMPLE = "select 1 as there from word_study_posts where study = ? and post_no = ?"
_SET_LABEL = """
insert into word_study_labels (study, post_no, who, label, at) values (?, ?, ?, ?, ?)
on conflict (study, post_no, who) do update set label = excluded.label, at = excluded.at
"""
_DELETE_LABEL = "delete from word_study_labels where study = ? and post_no = ? and who = ?"
_DELETIONS = tuple(f"delete from {table} where study = ?" for table in ("word_study_labels", "word_study_posts", "word_studies"))

_LEASE = timedelta(minutes=1)
_PROGRESS_EVERY = timedelta(seconds=1)
# A runner takes its own unfinished study again at once.
_FREE = f"state = '{StudyState.WAITING}' and (held_until <= ? or token = ?)"
_NEXT = f"select study from word_studies where {_FREE} order by study limit 1"
_TAKE = f"update word_studies set token = ?, held_until = ? where study = ? and {_FREE}"
_SET_PROGRESS = "update word_studies set through = ?, top = ?, held_until = ? where study = ? and token = ?"
_FINISH = f"""
update word_studies set state = '{StudyState.DONE}', result = ?, spellings = ?, ended_at = ?, held_until = 0, through = top
where study = ? and token = ?
"""
_FAIL = f"""
update word_studies set state = '{StudyState.FAILED}', error = ?, ended_at = ?, held_until = 0 where study = ? and token = ?
"""
_DELETE_SAMPLE = "delete from word_study_posts where study = ?"
# Posts that were deleted in the meantime are left out.
_ADD_TO_SAMPLE = """
insert into word_study_posts (study, place, post_no)
select ?, ?, post_no from posts where post_no = ? and deleted_at is null
"""


class PostLabel(Struct, frozen=True):
    """A person's label of a post of a sample; None removes it."""

    post: int
    who: str
    label: str | None


async def create_study(tx: Transaction, name: str, wanted: Wanted, who: str, now: datetime) -> int:
    """Create a waiting study and return its number."""
    words = _checked_words(wanted.words)
    if wanted.since is not None and wanted.until is not None and wanted.since >= wanted.until:
        raise UserError("the time must begin before it ends")
    row = await tx.fetch_one(
        _CREATE,
        name.strip()[:_MAX_NAME_LENGTH] or words[0],
        msgspec.json.encode(words).decode(),
        wanted.unit.value,
        None if wanted.since is None else to_micros(wanted.since),
        None if wanted.until is None else to_micros(wanted.until),
        who,
        to_micros(now),
    )
    return int(row["study"]) if row is not None else 0


async def restart_study(tx: Transaction, study: int, words: Sequence[str]) -> None:
    """Let the study run again with these words; the old result is shown until it is done."""
    await tx.execute(_RESTART, msgspec.json.encode(_checked_words(words)).decode(), study)


async def set_series(tx: Transaction, study: int, name: str, series: Mapping[datetime, float]) -> None:
    """Set or replace the series of a study."""
    values = msgspec.json.encode(micros(series)).decode()
    await tx.execute(_SET_SERIES, name.strip()[:_MAX_NAME_LENGTH] or "series", values, study)


async def label_post(database: Database, study: int, label: PostLabel, now: datetime) -> None:
    """Save or remove a label."""
    if label.label is not None and label.label not in LABELS:
        raise UserError(f"invalid label {label.label[:30]!r}", f"use one of {', '.join(LABELS)}")
    async with database.transaction() as tx:
        if await tx.fetch_one(_IN_SAMPLE, study, label.post) is None:
            raise UserError("this post is not in the sample any more; it may have been deleted", code="unknown_post")
        if label.label is None:
            await tx.execute(_DELETE_LABEL, study, label.post, label.who)
        else:
            await tx.execute(_SET_LABEL, study, label.post, label.who, label.label, to_micros(now))


async def remove_study(tx: Transaction, study: int) -> None:
    for statement in _DELETIONS:
        await tx.execute(statement, study)


def _checked_words(written: Sequence[str]) -> list[str]:
    """Return the cleaned words; raise `UserError` if there are none, too many, or too long ones."""
    words = clean_words(written)
    if not any(letter.isalnum() for word in words for letter in word):
        raise UserError("name at least one word to look for", code="missing_value")
    if len(words) > MAX_WORDS:
        raise UserError(f"{len(words)} words are too many; a study may have {MAX_WORDS}", code="too_many")
    if long := [word for word in words if len(word) > MAX_WORD_LENGTH]:
        raise UserError(
            f"{long[0][:30]!r}… has {len(long[0])} letters; a word or phrase may have {MAX_WORD_LENGTH}", code="too_many"
        )
    return words


class StudyRunner:
    """Runs the waiting studies of a store."""

    def __init__(self, database: Database, clock: Clock, *, rest: float = 1.0) -> None:
        """`rest`: the pause after each batch of posts, as a multiple of the time that the batch took."""
        self._database = database
        self._clock = clock
        self._rest = rest
        self._token = randbits(62)

    async def run_next(self) -> int | None:
        """Run the oldest waiting study and return its number, or None if there is none.

        On `Busy` and `DiskFull` the study keeps waiting, and the error is raised.
        """
        study = await self._take()
        if study is None:
            return None
        try:
            await self._finish(study, await self._look_through(study))
        except Fenced:
            pass
        except (Busy, DiskFull):
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}".replace("\0", "")[:300]
            async with self._database.transaction() as tx:
                await tx.execute(_FAIL, why, to_micros(self._clock.now()), study.number, self._token)
        return study.number

    async def _take(self) -> Study | None:
        now = self._clock.now()
        free, until = (to_micros(now), self._token), to_micros(now + _LEASE)
        async with self._database.transaction() as tx:
            row = await tx.fetch_one(_NEXT, *free)
            if row is None or not await tx.execute(_TAKE, self._token, until, row["study"], *free):
                return None
            return await read_study(tx, row["study"])

    async def _look_through(self, study: Study) -> Looked:
        saved_at = self._clock.now()
        began = self._clock.stopwatch()

        async def after_batch(through: int, top: int) -> None:
            nonlocal saved_at, began
            if self._clock.now() - saved_at >= _PROGRESS_EVERY or through >= top:
                saved_at = self._clock.now()
                # Progress that cannot be saved is no reason to lose the work.
                with suppress(Busy):
                    await self._set_progress(study.number, through, top)
            took = self._clock.stopwatch() - began
            await self._clock.sleep_until(self._clock.now() + timedelta(seconds=took * self._rest))
            began = self._clock.stopwatch()

        # A study draws the same sample again as long as the posts are the same.
        random = Random(study.number)  # noqa: S311 a sample, no secret
        return await look_through(self._database, study.wanted, random, after_batch)

    async def _set_progress(self, study: int, through: int, top: int) -> None:
        async with self._database.transaction() as tx:
            until = to_micros(self._clock.now() + _LEASE)
            if await tx.execute(_SET_PROGRESS, through, top, until, study, self._token) != 1:
                raise Fenced("the study was changed, or another process runs it")

    async def _finish(self, study: Study, looked: Looked) -> None:
        found, spellings = (msgspec.json.encode(each).decode() for each in (looked.found, looked.spellings))
        async with self._database.transaction() as tx:
            now = to_micros(self._clock.now())
            if await tx.execute(_FINISH, found, spellings, now, study.number, self._token) != 1:
                raise Fenced("the study was changed")
            await tx.execute(_DELETE_SAMPLE, study.number)
            for place, post in enumerate(looked.sample):
                await tx.execute(_ADD_TO_SAMPLE, study.number, place, post)

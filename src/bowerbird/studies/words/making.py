"""What people do with studies of words: make one, change its words, give it a series, label its sample, remove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.analysis.agreement import LABELS
from bowerbird.analysis.word_search import MAX_WORD_LENGTH, MAX_WORDS, clean_words
from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.model import StudyState
from bowerbird.ports import Database, Transaction
from bowerbird.reports.words.looking import Wanted
from bowerbird.reports.words.reading import micros

_LONGEST_NAME = 100
_MAKE = f"""
insert into word_studies (name, words, unit, since, until, who, made_at, state)
values (?, ?, ?, ?, ?, ?, ?, '{StudyState.WAITING}')
returning study
"""
_ANEW = f"""
update word_studies set words = ?, state = '{StudyState.WAITING}', token = 0, held_until = 0, through = 0, error = null
where study = ?
"""
_SERIES = "update word_studies set series_name = ?, series = ? where study = ?"
_IN_SAMPLE = "select 1 as there from word_study_posts where study = ? and post_no = ?"
_LABEL = """
insert into word_study_labels (study, post_no, who, label, at) values (?, ?, ?, ?, ?)
on conflict (study, post_no, who) do update set label = excluded.label, at = excluded.at
"""
_TAKE_BACK = "delete from word_study_labels where study = ? and post_no = ? and who = ?"
_REMOVE = tuple(f"delete from {table} where study = ?" for table in ("word_study_labels", "word_study_posts", "word_studies"))


class Said(Struct, frozen=True):
    """What a person says of a post of a sample; no label: what was said is taken back."""

    post: int
    who: str
    label: str | None


def checked_words(written: Sequence[str]) -> list[str]:
    """Words that can be looked for; raises `UserError` for none, too many and very long ones."""
    words = clean_words(written)
    if not any(letter.isalnum() for word in words for letter in word):
        raise UserError("name at least one word to look for")
    if len(words) > MAX_WORDS:
        raise UserError(f"{len(words)} words are too many; a study may have {MAX_WORDS}")
    if long := [word for word in words if len(word) > MAX_WORD_LENGTH]:
        raise UserError(f"{long[0][:30]!r}… has {len(long[0])} letters; a word or phrase may have {MAX_WORD_LENGTH}")
    return words


async def make_study(tx: Transaction, name: str, wanted: Wanted, who: str, now: datetime) -> int:
    """A new study, which waits to be looked through; its number."""
    words = checked_words(wanted.words)
    if wanted.since is not None and wanted.until is not None and wanted.since >= wanted.until:
        raise UserError("the time must begin before it ends")
    row = await tx.fetch_one(
        _MAKE,
        name.strip()[:_LONGEST_NAME] or words[0],
        msgspec.json.encode(words).decode(),
        wanted.unit.value,
        None if wanted.since is None else to_micros(wanted.since),
        None if wanted.until is None else to_micros(wanted.until),
        who,
        to_micros(now),
    )
    return int(row["study"]) if row is not None else 0


async def look_anew(tx: Transaction, study: int, words: Sequence[str]) -> None:
    """Has the posts looked through again, for these words; what was found before is shown until then."""
    await tx.execute(_ANEW, msgspec.json.encode(checked_words(words)).decode(), study)


async def keep_series(tx: Transaction, study: int, name: str, series: Mapping[datetime, float]) -> None:
    """The series of a study, in place of one that it had."""
    await tx.execute(_SERIES, name.strip()[:_LONGEST_NAME] or "series", msgspec.json.encode(micros(series)).decode(), study)


async def label(database: Database, study: int, said: Said, now: datetime) -> None:
    if said.label is not None and said.label not in LABELS:
        raise UserError(f"a label is one of {', '.join(LABELS)}")
    async with database.transaction() as tx:
        if await tx.fetch_one(_IN_SAMPLE, study, said.post) is None:
            raise UserError("this post is not in the sample any more; it may have been deleted")
        if said.label is None:
            await tx.execute(_TAKE_BACK, study, said.post, said.who)
        else:
            await tx.execute(_LABEL, study, said.post, said.who, said.label, to_micros(now))


async def remove_study(tx: Transaction, study: int) -> None:
    for statement in _REMOVE:
        await tx.execute(statement, study)

"""Read studies of words: progress, counts, comparison with a series, and the precision according to labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.analysis.agreement import NO, UNSURE, YES, Agreement, Share, majority_label, measure_agreement, wilson_share
from bowerbird.analysis.series import Lagged, correlate
from bowerbird.clock import from_micros, to_micros
from bowerbird.model import StudyState
from bowerbird.model.subjects.telling import is_hidden
from bowerbird.ports import Row, Transaction
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.words.looking import Found, Wanted

LAGS = {Unit.HOUR: 24, Unit.DAY: 7, Unit.MONTH: 3}
"""Maximum lag of the comparison, in intervals."""
_COLUMNS = """
study, name, words, unit, since, until, who, made_at, state, held_until, through, top, ended_at, result, spellings, series_name,
series, error
"""
_ALL = f"select {_COLUMNS} from word_studies order by study desc limit ?"
_ONE = f"select {_COLUMNS} from word_studies where study = ?"
_SAMPLE = f"""
select s.place, p.post_no, p.id, p.text, p.created_at, p.language, u.id as author_id, u.handle
from word_study_posts s join posts p on p.post_no = s.post_no join users u on u.user_no = p.author
where s.study = ? and p.deleted_at is null and not {is_hidden("u")} order by s.place
"""
_LABELS = "select post_no, who, label from word_study_labels where study = ? order by who, post_no"


class Study(Struct, frozen=True, kw_only=True):
    """A study of words and its result."""

    number: int
    name: str
    wanted: Wanted
    who: str
    made_at: datetime
    state: StudyState
    progress: float
    ended_at: datetime | None
    found: Found | None
    spellings: Sequence[tuple[str, int, int]]
    series_name: str | None
    series: Mapping[datetime, float]
    error: str | None


class SampledPost(Struct, frozen=True, kw_only=True):
    """One post of a sample."""

    number: int
    id: str
    text: str
    created_at: datetime | None
    language: str | None
    author_id: str
    handle: str | None


class ByPerson(Struct, frozen=True):
    who: str
    labelled: int
    precise: Share


class Precision(Struct, frozen=True, kw_only=True):
    """The share of mentions that are about the intended topic, according to labels of the sample."""

    drawn: int
    labelled: int
    unsure: int
    precise: Share
    people: Sequence[ByPerson] = ()
    agreement: Agreement | None = None


class Compared(Struct, frozen=True, kw_only=True):
    """Mentions and the series in the same intervals, and their correlations."""

    times: Sequence[datetime]
    posts: Sequence[int]
    people: Sequence[int]
    series: Sequence[float | None]
    by_posts: Sequence[Lagged] = ()
    by_people: Sequence[Lagged] = ()


async def read_studies(tx: Transaction, most: int = 200) -> Sequence[Study]:
    """Return the studies, latest first."""
    return [_study(row) for row in await tx.fetch(_ALL, most)]


async def read_study(tx: Transaction, number: int) -> Study | None:
    row = await tx.fetch_one(_ONE, number)
    return None if row is None else _study(row)


def _study(row: Row) -> Study:
    since, until = (None if row[name] is None else from_micros(row[name]) for name in ("since", "until"))
    words = msgspec.json.decode(row["words"], type=list[str])
    series = msgspec.json.decode(row["series"] or "[]", type=list[tuple[int, float]])
    return Study(
        number=row["study"],
        name=row["name"],
        wanted=Wanted(words=words, unit=Unit(row["unit"]), since=since, until=until),
        who=row["who"],
        made_at=from_micros(row["made_at"]),
        state=StudyState(row["state"]),
        progress=row["through"] / row["top"] if row["top"] else 0.0,
        ended_at=None if row["ended_at"] is None else from_micros(row["ended_at"]),
        found=None if row["result"] is None else msgspec.json.decode(row["result"], type=Found),
        spellings=msgspec.json.decode(row["spellings"] or "[]", type=list[tuple[str, int, int]]),
        series_name=row["series_name"],
        series={from_micros(at): value for at, value in series},
        error=row["error"],
    )


def compared(study: Study) -> Compared | None:
    """Return mentions and series by interval, from the first to the last, or None until there is a result.

    Intervals without mentions count as 0. Intervals without a value of the series are left out; several values are averaged.
    """
    if study.found is None:
        return None
    unit = study.wanted.unit
    found = {from_micros(int(at)): counts for at, counts in study.found.stretches.items()}
    series = _averaged(study.series, unit)
    times = _stretches([*found, *series], unit)
    posts, people = ([found.get(at, (0, 0))[which] for at in times] for which in (0, 1))
    theirs = [series.get(at) for at in times]
    places = {place: value for place, value in enumerate(theirs) if value is not None}
    both = [dict(enumerate(map(float, values))) for values in (posts, people)]
    first, last = (min(places), max(places)) if places else (0, -1)
    # Only intervals that the series covers, with room for the lags.
    most = LAGS[unit]
    shown = [{place: n for place, n in values.items() if first - most <= place <= last + most} for values in both]
    by_posts, by_people = ([] if not places else correlate(values, places, most) for values in shown)
    return Compared(times=times, posts=posts, people=people, series=theirs, by_posts=by_posts, by_people=by_people)


def _averaged(series: Mapping[datetime, float], unit: Unit) -> dict[datetime, float]:
    sums: dict[datetime, list[float]] = {}
    for when, value in series.items():
        sums.setdefault(unit.begin(when), []).append(value)
    return {when: sum(values) / len(values) for when, values in sums.items()}


_MOST = 20_000


def _stretches(seen: Sequence[datetime], unit: Unit) -> list[datetime]:
    if not seen:
        return []
    times, last = [min(seen)], max(seen)
    while times[-1] < last and len(times) < _MOST:
        times.append(unit.next(times[-1]))
    return times


async def read_drawn_posts(tx: Transaction, study: int) -> Sequence[SampledPost]:
    """Return the posts of the sample that still exist, in random order."""
    return [
        SampledPost(
            number=row["post_no"],
            id=row["id"],
            text=row["text"] or "",
            created_at=None if row["created_at"] is None else from_micros(row["created_at"]),
            language=row["language"],
            author_id=row["author_id"],
            handle=row["handle"],
        )
        for row in await tx.fetch(_SAMPLE, study)
    ]


async def read_labels(tx: Transaction, study: int) -> Mapping[int, Mapping[str, str]]:
    """Return the labels by post and person."""
    found: dict[int, dict[str, str]] = {}
    for row in await tx.fetch(_LABELS, study):
        found.setdefault(row["post_no"], {})[row["who"]] = row["label"]
    return found


async def read_precision(tx: Transaction, study: int) -> Precision:
    sample, labels = await read_drawn_posts(tx, study), await read_labels(tx, study)
    said = {post.number: labels[post.number] for post in sample if post.number in labels}
    words = [majority_label(each) for each in said.values()]
    people = sorted({who for each in said.values() for who in each})
    return Precision(
        drawn=len(sample),
        labelled=len(said),
        unsure=words.count(UNSURE),
        precise=_share(words),
        people=[_by(who, [each[who] for each in said.values() if who in each]) for who in people],
        agreement=measure_agreement(list(said.values())),
    )


def _by(who: str, words: Sequence[str]) -> ByPerson:
    return ByPerson(who, len(words), _share(words))


def _share(words: Sequence[str]) -> Share:
    return wilson_share(words.count(YES), words.count(YES) + words.count(NO))


def micros(series: Mapping[datetime, float]) -> list[tuple[int, float]]:
    """Return a series as it is stored: microseconds and values."""
    return sorted((to_micros(when), value) for when, value in series.items())

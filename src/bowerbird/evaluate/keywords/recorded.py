"""Recorded events as streams: one table per event, with labels, from a folder."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from bowerbird.errors import UserError
from bowerbird.evaluate.keywords.streams import EventStream, StreamPost, Surroundings, chance
from bowerbird.flows.language.spelling import meant
from bowerbird.model.terms import Reading, read_text

SEEDS: Mapping[str, tuple[str, ...]] = {
    "2012_Sandy_Hurricane": ("#sandy", "#hurricanesandy"),
    "2013_Alberta_Floods": ("#abflood", "#yycflood"),
    "2013_Boston_Bombings": ("#bostonmarathon", "#prayforboston"),
    "2013_Oklahoma_Tornado": ("#prayforoklahoma", "#moore"),
    "2013_Queensland_Floods": ("#qldfloods", "#bigwet"),
    "2013_West_Texas_Explosion": ("#westtx", "#westexplosion"),
}
"""Hashtags of the news of those days, for events that are much used in research; of others the name of the folder is the seed."""
_ON_TOPIC = frozenset({"on-topic", "on_topic", "ontopic", "event", "related", "1", "true", "yes"})
_COLUMNS = {
    "id": ("id", "tweet id", "tweet_id", "post_id"),
    "text": ("text", "tweet", "content"),
    "label": ("label",),
    "time": ("time", "created_at"),
}
_SNOWFLAKE_MS, _SNOWFLAKE_SHIFT = 1_288_834_974_657, 22
_SAMPLE = 10_000
"""Posts from elsewhere that make a background."""
_EVENT_SHARE = 0.02
"""Of all that a network shows, the part that even a great event has for days."""


BACKGROUNDS: Mapping[str, str] = {
    "network": f"the recording's own posts of the time, the event thinned to {_EVENT_SHARE:.0%} as in a network's sample",
    "others": "a sample of the other recordings, whatever their time",
    "own": "the recording as it is, more than half of which is the event",
}
"""What a replay takes for the sample that a network shows of everything."""


def recorded_events(
    folder: Path, seeds: Mapping[str, Sequence[str]] | None = None, background: str = "network"
) -> list[EventStream]:
    """Every table in the folder and its folders as an event. Raises `UserError` where there is nothing to read."""
    if background not in BACKGROUNDS:
        raise UserError(f"There is no background {background!r}{meant(background, BACKGROUNDS)}: {', '.join(BACKGROUNDS)}.")
    tables = sorted(path for path in folder.rglob("*") if path.suffix in {".csv", ".tsv"})
    if not tables:
        raise UserError(f"There is no table in {folder}: put one .csv or .tsv per event there, with columns id, text, label.")
    posts = {_name(path, folder): list(_rows(path)) for path in tables}
    if background == "others" and len(posts) == 1:
        raise UserError(f"{folder} has one event, and no others that could be its background: take --background network.")
    chosen = {**SEEDS, **(seeds or {})}
    return [
        EventStream(name, each, chosen.get(name) or seeds_of_name(name), _around(name, posts, background))
        for name, each in posts.items()
    ]


def _around(name: str, posts: Mapping[str, Sequence[StreamPost]], background: str) -> Surroundings:
    return Surroundings(
        event_share=_EVENT_SHARE if background == "network" else None,
        elsewhere=_elsewhere(name, posts) if background == "others" else (),
    )


def _name(path: Path, folder: Path) -> str:
    return path.stem if path.parent == folder else path.parent.name


def seeds_of_name(name: str) -> tuple[str, ...]:
    """`2013_Queensland_Floods` is `queensland floods`, in words and as a hashtag."""
    words = [word for word in re.split(r"[\W_]+", name.lower()) if word and not word.isdigit()][:3]
    return (" ".join(words), "#" + "".join(words))


def _elsewhere(name: str, posts: Mapping[str, Sequence[StreamPost]]) -> list[Reading]:
    others = [post for other, each in posts.items() if other != name for post in each]
    chosen = sorted(others, key=lambda post: chance(post.key, "elsewhere"))[:_SAMPLE]
    Random(0).shuffle(chosen)
    return [read_text(post.text) for post in chosen]


def _rows(path: Path) -> Iterator[StreamPost]:
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
        where = _columns(next(table, []), path)
        for line, row in enumerate(table, 2):
            if len(row) > max(where.values()):
                yield _post(row, where, f"{path}, line {line}")


def _columns(header: Sequence[str], path: Path) -> dict[str, int]:
    names = [name.strip().casefold() for name in header]
    where = {column: names.index(name) for column, known in _COLUMNS.items() for name in known if name in names}
    if missing := {"id", "text", "label"} - where.keys():
        needed = "its first line must name id, text, label and, if ids do not tell it, time"
        raise UserError(f"{path} has no column {', '.join(sorted(missing))}: {needed}.")
    return where


def _post(row: Sequence[str], where: Mapping[str, int], at: str) -> StreamPost:
    key = row[where["id"]].strip().strip("'\"")
    label = row[where["label"]].strip().casefold()
    return StreamPost(key, _time(row[where["time"]] if "time" in where else "", key, at), row[where["text"]], label in _ON_TOPIC)


def _time(written: str, key: str, at: str) -> datetime:
    """The time that is written, or the one that a snowflake id tells."""
    try:
        if written.strip():
            when = datetime.fromisoformat(written.strip())
            return when if when.tzinfo else when.replace(tzinfo=UTC)
        return datetime.fromtimestamp(((int(key) >> _SNOWFLAKE_SHIFT) + _SNOWFLAKE_MS) / 1000, UTC)
    except ValueError:
        raise UserError(
            f"{at}: {written or key!r} tells no time; add a column time, such as 2013-06-21T12:00:00+00:00."
        ) from None

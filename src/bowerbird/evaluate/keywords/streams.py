"""Recorded events with labels, and the streams in which they are replayed.

A stream contains one recorded event, with the off-topic posts of its recording, among many
unrelated posts. Rules:

- The background is a random share of the whole stream. It never depends on labels.
- Unrelated posts are spread evenly over the event, with mild random variation; their number
  does not grow when the event does.
- Ordinary posts fall into two halves by a hash of their text. `REFERENCE` may be used to build
  tables that are shipped with the package, `EVALUATION` is what streams consist of.
- Two uses of the same unrelated text are `REUSE_FRAMES` frames apart on average. Where there are
  too few texts for that, a random sample of the recording is replayed instead of the whole.
- Off-topic posts of a recording count as noise.
"""

from __future__ import annotations

import csv
import html
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from sys import intern
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from bowerbird.errors import UserError
from bowerbird.keywords.values import Post, Settings
from bowerbird.model.terms import Kind, Matcher, Reading, kind_of, read_text

FRAMES = 60
"""Frames of a replay. A recording of hours or weeks is replayed in this many."""
FRAME = Settings().frame
START = datetime(2026, 1, 1, tzinfo=UTC)
"""When every replay begins."""
REUSE_FRAMES = 20
OTHER_EVENTS = 4
"""Other recordings in a crowded stream."""
VARIATION = 0.1
"""Standard deviation of the logarithm of the unrelated traffic of a frame."""

SEEDS: Mapping[str, tuple[str, ...]] = {
    "2012_Sandy_Hurricane": ("#sandy", "#hurricanesandy"),
    "2013_Alberta_Floods": ("#abflood", "#yycflood"),
    "2013_Boston_Bombings": ("#bostonmarathon", "#prayforboston"),
    "2013_Oklahoma_Tornado": ("#prayforoklahoma", "#moore"),
    "2013_Queensland_Floods": ("#qldfloods", "#bigwet"),
    "2013_West_Texas_Explosion": ("#westtx", "#westexplosion"),
    "2013_Pakistan_eq": ("#balochistan", "#awaran"),
    "2014_California_Earthquake": ("#napaquake", "#napa"),
    "2014_Chile_Earthquake_cl": ("#iquique", "#fuerzachile"),
    "2014_Chile_Earthquake_en": ("#prayforchile", "#chileearthquake"),
    "2014_Hurricane_Odile_Mexico_en": ("#odile", "#hurricaneodile"),
    "2014_Pakistan_floods": ("#kashmirfloods", "#pakistanfloods"),
    "2014_Philippines_Typhoon_Hagupit_en": ("#rubyph", "#hagupit"),
    "2015_Cyclone_Pam_en": ("#vanuatu", "#cyclonepam"),
    "2015_Nepal_Earthquake_en": ("#nepalearthquake", "#nepalquake"),
}
"""Two hashtags of the news of those days for each recording."""
_UNSPACED = "\u0e00"
"""From here on, scripts may have no spaces between words."""
_SPANISH = frozenset({"2014_Chile_Earthquake_cl"})
_OFF_TOPIC = frozenset({"off-topic", "not_related_or_irrelevant"})

Numbers = NDArray[np.int32]
Flags = NDArray[np.bool_]


class Half(IntEnum):
    """The two halves of the ordinary posts."""

    REFERENCE = 0
    EVALUATION = 1

    @classmethod
    def of(cls, text: str) -> Half:
        return cls(crc32(text.encode()) % 2)


class OrdinaryPost(Struct, frozen=True, gc=False):
    """A post that has nothing to do with the events."""

    text: str
    language: str
    is_tweet: bool = True


class Recording(Struct, frozen=True, kw_only=True):
    """A recorded event, in the order of time."""

    name: str
    language: str
    seeds: tuple[str, ...]
    times: tuple[int, ...]
    """Milliseconds since 1970."""
    texts: tuple[str, ...]
    labels: tuple[bool, ...]
    """Whether each post belongs to the event."""

    def overlaps(self, other: Recording) -> bool:
        """True if both were recorded at the same time: then each may contain the other's event."""
        return self.times[0] <= other.times[-1] and other.times[0] <= self.times[-1]


class Conditions(Struct, frozen=True, kw_only=True):
    """What surrounds an event, and what a method may see of it."""

    ratio: int = 40
    """Unrelated posts for each post of the event."""
    share: float = 0.25
    """Part of the stream that the background contains."""
    language: str = "mixed"
    """Of the unrelated posts: `mixed`, or `own`, the language of the event."""
    is_crowded: bool = False
    """Whether other events happen at the same time."""
    probes: int = 20
    """Searches after each frame."""


class Data:
    """Recorded events and ordinary posts from a folder, and the texts as methods read them."""

    def __init__(self, recordings: Sequence[Recording], unrelated: Sequence[OrdinaryPost]) -> None:
        self.recordings = {recording.name: recording for recording in recordings}
        self.unrelated = unrelated
        self._readings: dict[str, Reading] = {}

    def read(self, text: str) -> Reading:
        """Return the terms of a text; each text is read once."""
        if text not in self._readings:
            tokens = read_text(html.unescape(text)).tokens
            self._readings[text] = Reading(tuple(map(intern, tokens)))
        return self._readings[text]

    def others(self, recording: Recording, language: str = "mixed") -> list[Recording]:
        """Return the recordings of other events at other times, in one language or any."""
        return [
            other
            for other in self.recordings.values()
            if not other.overlaps(recording)
            and (language == "mixed" or other.language == recording.language)
        ]


def read_data(folder: Path) -> Data:
    """Read the recordings and the half of the ordinary posts that is meant for evaluation.

    Raises `UserError` if the folder does not contain them."""
    tables = sorted(folder.glob("events-crisislex-t6/*/*.csv"))
    tables += sorted(folder.glob("events-crisisnlp/*.tsv"))
    if not tables:
        raise UserError(
            f"No recorded events in {str(folder)!r}.",
            "Pass the folder that contains events-crisislex-t6 and events-crisisnlp with --data.",
            code="file_not_found",
        )
    unrelated = [
        post for post in read_ordinary_posts(folder) if Half.of(post.text) is Half.EVALUATION
    ]
    if not unrelated:
        raise UserError(
            f"No ordinary posts in {str(folder)!r}.",
            "Pass the folder that contains "
            "language-tweets-15, portuguese-br-tweets or portuguese-varieties with --data.",
            code="file_not_found",
        )
    return Data([_read_recording(table) for table in tables], unrelated)


def read_ordinary_posts(folder: Path) -> Iterator[OrdinaryPost]:
    """Read the ordinary posts of both halves, each text once, tweets before sentences of news."""
    seen: set[str] = set()
    for text, language, is_tweet in _read_ordinary_texts(folder):
        if text not in seen:
            seen.add(text)
            yield OrdinaryPost(text, language, is_tweet)


def _read_ordinary_texts(folder: Path) -> Iterator[tuple[str, str, bool]]:
    for path in sorted(folder.glob("language-tweets-15/*.tsv")):
        for row in _read_rows(path, is_quoted=False)[1:]:
            yield row[4], row[0], True
    for path in sorted(folder.glob("portuguese-br-tweets/*.csv")):
        for row in _read_rows(path)[1:]:
            yield row[0], "por", True
    for path in sorted(folder.glob("portuguese-varieties/*.tsv")):
        for row in _read_rows(path):
            yield row[1], "por", False


def _read_rows(path: Path, *, is_quoted: bool = True) -> list[list[str]]:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(
            file,
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
        )
        return [row for row in rows if row]


def _read_recording(path: Path) -> Recording:
    """Read a table with the columns id, text and label; the id of a tweet contains its time."""
    is_t6 = path.suffix == ".csv"
    name = path.parent.name if is_t6 else path.stem
    posts = []
    for line, row in enumerate(_read_rows(path, is_quoted=is_t6)[1:], 2):
        try:
            number, text, label = row
            time = (int(number.strip().strip("'")) >> 22) + 1_288_834_974_657
        except ValueError:
            raise UserError(f"Invalid row in {path}, line {line}: {row[:1]}.") from None
        posts.append((time, text, label.strip() not in _OFF_TOPIC))
    if not any(is_event for _, _, is_event in posts):
        raise UserError(f"{path} contains no post that belongs to its event.")
    if name not in SEEDS:
        raise UserError(f"No seeds for the recording {name}.", "Add them to SEEDS.")
    posts.sort()
    times, texts, labels = zip(*posts, strict=True)
    language = "spa" if name in _SPANISH else "eng"
    return Recording(
        name=name, language=language, seeds=SEEDS[name], times=times, texts=texts, labels=labels
    )


class Stream:
    """Posts in the order of time, by position. A text may occur at several positions."""

    def __init__(
        self,
        recording: Recording,
        readings: Sequence[Reading],
        times: NDArray[np.float64],
        texts: Numbers,
        is_event: Flags,
        in_background: Flags,
        share: float,
        facts: Mapping[str, object],
    ) -> None:
        self.name, self.seeds = recording.name, recording.seeds
        self.readings = readings
        """Of each text."""
        self.times = times
        """In frames since the beginning."""
        self.texts = texts
        """The text at each position."""
        self.is_event = is_event
        self.in_background = in_background
        self.share = share
        self.facts = facts
        """How the stream was made, for the report."""
        self.event_size = int(is_event.sum())
        self.starts = np.searchsorted(times, np.arange(FRAMES + 1)).tolist()
        """The first position of each frame, and the number of posts."""
        self._posts: dict[int, Post] = {}
        self._carrying: dict[str, Numbers] = {}
        self._by_text = np.argsort(texts, kind="stable").astype(np.int32)
        self._first_use = np.searchsorted(texts[self._by_text], np.arange(len(readings) + 1))

    def post(self, position: int) -> Post:
        if position not in self._posts:
            at = START + timedelta(seconds=float(self.times[position]) * FRAME.total_seconds())
            self._posts[position] = Post(at, self.readings[self.texts[position]])
        return self._posts[position]

    def texts_with(self, term: str) -> Numbers:
        """Return the texts that a keyword matches, by the rules of `Matcher`."""
        if term not in self._carrying:
            matcher = Matcher((term,))
            first = term.split(" ")[0]
            if kind_of(term) is Kind.ACCOUNT or max(first) >= _UNSPACED:
                candidates: Sequence[int] = range(len(self.readings))
            else:
                candidates = self._texts_by_token.get(first, ())
            matching = [text for text in candidates if matcher.matched(self.readings[text])]
            self._carrying[term] = np.array(matching, dtype=np.int32)
        return self._carrying[term]

    @cached_property
    def _texts_by_token(self) -> dict[str, list[int]]:
        """Texts with each word and hashtag; a hashtag counts as its word too."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for text, reading in enumerate(self.readings):
            tokens = set(reading.tokens)
            for token in tokens.union(tag[1:] for tag in tokens if tag[0] == "#"):
                found[token].append(text)
        return dict(found)

    def positions_with(self, term: str) -> Numbers:
        """Return the positions of the posts that a keyword matches, in order."""
        uses = [
            self._by_text[self._first_use[text] : self._first_use[text + 1]]
            for text in self.texts_with(term)
        ]
        return np.sort(np.concatenate(uses)) if uses else np.array([], dtype=np.int32)


def build_stream(data: Data, recording: Recording, conditions: Conditions) -> Stream:
    """Build the stream of one event. The same arguments give the same stream.

    The event's posts, the unrelated ones and the other events are chosen by separate random
    numbers, so that conditions change only what they name."""
    name = recording.name
    others = _choose_others(data, recording, conditions)
    supply = _choose_supply(data, recording, others, conditions)

    # How much of the recording is replayed: all of it if there are enough unrelated texts.
    wanted = conditions.ratio * sum(recording.labels)
    kept = min(1.0, len(supply) * FRAMES / REUSE_FRAMES / wanted)
    chosen = _sample(len(recording.texts), kept, _random(name, "recording"))
    labels = np.array(recording.labels)[chosen]
    unrelated = conditions.ratio * int(labels.sum())

    random = _random(name, "unrelated")
    rates = np.exp(random.normal(0, VARIATION, FRAMES))
    counts = random.multinomial(unrelated, rates / rates.sum())
    unrelated_times = np.sort(np.repeat(np.arange(FRAMES), counts) + random.random(unrelated))
    order = random.permutation(len(supply))[:unrelated]

    times = [_scale(recording.times)[chosen], unrelated_times]
    texts = [recording.texts[number] for number in chosen]
    numbers = [np.arange(len(texts)), len(texts) + np.arange(unrelated) % len(order)]
    texts += [supply[number] for number in order]
    for other in others:
        part = min(1.0, len(recording.texts) * kept / len(other.texts))
        sampled = _sample(len(other.texts), part, _random(name, other.name))
        times.append(_scale(other.times)[sampled])
        numbers.append(len(texts) + np.arange(len(sampled)))
        texts += [other.texts[number] for number in sampled]

    all_times = np.concatenate(times)
    by_time = np.argsort(all_times, kind="stable")
    is_event = np.zeros(len(all_times), dtype=np.bool_)
    is_event[: len(labels)] = labels
    reuse = unrelated_times[len(order) :] - unrelated_times[: unrelated - len(order)]
    return Stream(
        recording,
        [data.read(text) for text in texts],
        all_times[by_time],
        np.concatenate(numbers)[by_time].astype(np.int32),
        is_event[by_time],
        _random(name, "background").random(len(all_times)) < conditions.share,
        conditions.share,
        {
            "posts": len(all_times),
            "event": int(labels.sum()),
            "off_topic": int((~labels).sum()),
            "unrelated": unrelated,
            "unrelated_texts": len(order),
            "frames_between_uses": round(float(reuse.min()), 1) if len(reuse) else None,
            "recording_share": round(kept, 4),
            "other_events": [other.name for other in others],
        },
    )


def _random(*names: str) -> np.random.Generator:
    return np.random.default_rng(crc32(" ".join(names).encode()))


def _sample(size: int, share: float, random: np.random.Generator) -> NDArray[np.int64]:
    """Choose a random share of the first `size` numbers, in order."""
    return np.sort(random.permutation(size)[: max(1, round(size * share))])


def _scale(times: Sequence[int]) -> NDArray[np.float64]:
    """Return the times as frames from 0 to less than `FRAMES`; the shape stays the same."""
    since = np.array(times, dtype=np.float64) - times[0]
    scaled: NDArray[np.float64] = since / (since[-1] + 1) * FRAMES
    return scaled


def _choose_others(data: Data, recording: Recording, conditions: Conditions) -> list[Recording]:
    if not conditions.is_crowded:
        return []
    candidates = data.others(recording, conditions.language)
    order = _random(recording.name, "others").permutation(len(candidates))
    return [candidates[number] for number in order[:OTHER_EVENTS]]


def _choose_supply(
    data: Data, recording: Recording, others: Sequence[Recording], conditions: Conditions
) -> list[str]:
    """Return the unrelated texts: tweets, then news if there are too few tweets.

    In a single language, off-topic posts of other recordings are added: they are ordinary
    tweets, and there are few others in English."""
    if conditions.language == "mixed":
        tweets = [post.text for post in data.unrelated if post.is_tweet]
        if len(tweets) * FRAMES / REUSE_FRAMES >= conditions.ratio * sum(recording.labels):
            return tweets
        return [post.text for post in data.unrelated]
    texts = [post.text for post in data.unrelated if post.language == recording.language]
    for other in data.others(recording, "own"):
        if other not in others:
            labelled = zip(other.texts, other.labels, strict=True)
            texts += [text for text, is_event in labelled if not is_event]
    if not texts:
        raise UserError(f"No unrelated posts in the language of {recording.name}.")
    return list(dict.fromkeys(texts))

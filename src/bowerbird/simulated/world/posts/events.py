"""Events: when they happen, what their posts say, and how their hashtags rise, fall and are taken over.

An event has a place with an invented name, a person, and words of its kind in every language. Its posts are drawn with the other
posts of a day (`days.Writers`); everything that they say follows from their numbers.

The shares are those of 15 recorded events (CrisisLex T6 and CrisisNLP, on-topic posts without retweets of the same text):

| | recorded, mean (least to greatest) | here |
|---|---|---|
| posts with any hashtag | .54 (.28 to .99) | .52 |
| with the most frequent hashtag | .23 (.07 to .61) | .25 |
| with one of the two most frequent | .35 (.10 to .88) | .38 |
| with the most frequent word, the second, third, fifth, seventh | .54, .39, .22, .11, .08 | .54, .45, .22, .17, .08 |
| with the most frequent pair of words | .17 (.03 to .39) | .17 |
| hashtags whose middle 80 % take less than 35 % of the event | .23 | `LIVE` |
| hashtags of which 95 % come after the first 15 % of the event | .09 | `NEWS` |

The recordings cannot show that others take over a hashtag, because only posts about the event were labelled. Here `LIVE` is taken
over: when the event has passed its peak, four to five times as many posts about something else carry it as had carried it before.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bowerbird.simulated.world.hashing import Words, generator, mix, mix_many, unit_many
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.posts.event_words import kind_words, person_name, place_name
from bowerbird.simulated.world.posts.tags import (
    EVENTS_PER_DAY,
    LIVE,
    NEWS,
    NO_EVENT,
    NO_TAG,
    TAGS_PER_EVENT,
    event_kind,
    event_number,
    event_tag,
    tag_name,
)  # fmt: skip
from bowerbird.simulated.world.settings import DAY, WorldSettings, to_ms

EVENT_DAYS = 3
"""An event ends at the end of its third day."""
_CHANCE = 0.15
_SCALE = timedelta(hours=5)
"""The posts of an event lie behind its beginning as a gamma distribution of shape 1.6 and this scale."""
SHAPE = 1.6
_TAKEN_OVER = 1.6, 4.0
"""When others use the hashtag `LIVE`, in units of the scale."""
_TAKEN_OVER_POSTS = 0.15
"""Posts of others with the hashtag `LIVE`, as a share of `Event.posts`."""

_TAGGED = 0.48
"""Share of an event's posts that have hashtags of it, one or two."""
_FIRST_WEIGHTS = (0.42, 0.3, 0.45, 0.3)
"""How often each of `MAIN`, `PLACE`, `LIVE` and `NEWS` is the first of a post at the time at which it is most used."""
_SECOND_SHARES = (0.5, 0.5, 0.8, 0.6)
"""The probability that each is added as a second one, where it is drawn for that."""

_TERM_SHARES = np.array([0.54, 0.22, 0.08, 0.11, 0.17, 0.31, 0.08])
"""How many posts contain each of `event_terms`. A post without any of them contains the place: .45 do."""
_PLACE_TERM = 5
_THRESHOLDS = (_TERM_SHARES * 256).astype(np.uint64)


class Event(Struct, frozen=True):
    """One event of a world."""

    number: int
    begins_ms: int
    scale_ms: int
    posts: int
    """How many posts were drawn for it, of which those of people far away are left out."""
    town: int
    """The community that most of its posts are from."""

    @property
    def tags(self) -> tuple[str, ...]:
        """All hashtags, those that it has from the beginning first."""
        return tuple(tag_name(event_tag(self.number, variant)) for variant in range(TAGS_PER_EVENT))


def planned_event(settings: WorldSettings) -> Event | None:
    """Return the event that the settings plan."""
    planned = settings.planned
    if planned is None:
        return None
    begins = to_ms(planned.begins)
    number = event_number((begins - settings.start_ms) // DAY, EVENTS_PER_DAY - 1)
    return Event(number, begins, round(planned.scale / timedelta(milliseconds=1)), planned.posts, planned.town)


def draw_event(settings: WorldSettings, towns: int, day: int, nth: int) -> tuple[Event, np.random.Generator] | None:
    """Return the nth event that begins on a day, with the generator that its posts are drawn from; None if there is none."""
    rng = generator(settings.seed, 5, day & 0xFFFFFFFF, nth)
    number = event_number(day, nth)
    planned = planned_event(settings)
    if planned is not None and planned.number == number:
        return planned, rng
    if rng.random() > _CHANCE:
        return None
    volume = settings.accounts * settings.posts_per_day * 0.01 * min(rng.pareto(1.1) + 0.2, 10.0)
    count = int(rng.poisson(volume))
    begins = settings.start_ms + day * DAY + int(rng.random() * DAY)
    town = int(rng.integers(0, towns))
    return Event(number, begins, round(_SCALE / timedelta(milliseconds=1)), count, town), rng


def event_hashtags(event: Event, ms: Array, chance: Array, step: Array) -> tuple[Array, Array]:
    """Return the hashtags of posts of an event; `chance` in [0, 1) decides on the first, `step` in 1 to 3 on the second."""
    age = (ms - event.begins_ms) / event.scale_ms
    use = np.ones((TAGS_PER_EVENT, len(ms)))
    use[LIVE] = np.clip((age - 0.4) / 0.5, 0, 1) * np.clip((2.6 - age) / 1.2, 0, 1)
    use[NEWS] = np.clip(age - 1, 0, 1)
    weights = np.cumsum(use * np.array(_FIRST_WEIGHTS)[:, None], axis=0)
    first = (chance / _TAGGED * weights[-1] >= weights).sum(axis=0)
    second = (first + step) % TAGS_PER_EVENT
    wanted = use[second, np.arange(len(ms))] * np.array(_SECOND_SHARES)[second]
    has_second = (chance < _TAGGED) & (unit_many(mix_many(ms, event.number)) < wanted)
    base = event_tag(event.number)
    first_tag = np.where(chance < _TAGGED, base + first, NO_TAG)
    return first_tag.astype(np.int32), np.where(has_second, base + second, NO_TAG).astype(np.int32)


def taken_over(settings: WorldSettings, events: Iterable[Event], ordinary_per_day: float, author: Array, ms: Array) -> Array:
    """Return for ordinary posts the hashtag of an event that they use for something else, or `NO_TAG`."""
    tag = np.full(len(ms), NO_TAG, np.int32)
    for event in events:
        begins, ends = (event.begins_ms + round(age * event.scale_ms) for age in _TAKEN_OVER)
        during = np.flatnonzero((begins <= ms) & (ms < ends))
        share = _TAKEN_OVER_POSTS * event.posts / max(1.0, ordinary_per_day * (ends - begins) / DAY)
        draws = unit_many(mix_many(ms[during] ^ (author[during].astype(np.int64) << 44), settings.seed ^ event.number))
        tag[during[draws < share]] = event_tag(event.number, LIVE)
    return tag


def event_terms(event: int, language: str) -> tuple[str, ...]:
    """Return the words and phrases of an event: three nouns, a verb, a phrase, the place and the person."""
    return (*kind_words(event_kind(event), language), place_name(event).title(), person_name(event))


def with_event_terms(words: list[str], number: int, event: int, language: str) -> list[str]:
    """Return the words of a post with those of its event among them."""
    said = list(words)
    terms = event_terms(event, language)
    for nth in np.flatnonzero(_has_terms(np.array([number]))[0]).tolist():
        said.insert(mix(number, 60 + nth) % (len(said) + 1), terms[nth])
    return said


def saying_of_events(
    numbers: npt.NDArray[np.int64], events: Array, styles: Array, languages: tuple[str, ...], word: str
) -> npt.NDArray[np.bool_]:
    """Return which posts contain a word of their event; `styles` are places in `languages`, by post."""
    found = np.zeros(len(numbers), bool)
    about = np.flatnonzero(events != NO_EVENT)
    if not len(about):
        return found
    has_terms = _has_terms(numbers[about])
    pairs, which = np.unique(np.stack([events[about], styles[about]]), axis=1, return_inverse=True)
    for nth, (event, style) in enumerate(pairs.T.tolist()):
        terms = event_terms(event, languages[style])
        wanted = [place for place, term in enumerate(terms) if word.lower() in term.lower().split()]
        if wanted:
            here = which.ravel() == nth
            found[about[here]] = has_terms[here][:, wanted].any(axis=1)
    return found


def _has_terms(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return a row for each post: which of its event's terms it contains."""
    draws: Words = mix_many(numbers, 36)
    shifts = np.arange(len(_THRESHOLDS), dtype=np.uint64) * np.uint64(8)
    has_terms: npt.NDArray[np.bool_] = ((draws[:, None] >> shifts) & np.uint64(255)) < _THRESHOLDS
    has_terms[~has_terms.any(axis=1), _PLACE_TERM] = True
    return has_terms

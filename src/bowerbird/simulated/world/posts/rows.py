"""A post as the world knows it, before anybody writes it down in a dialect."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from bowerbird.simulated.world.posts.tags import NO_EVENT, NO_TAG
from bowerbird.simulated.world.settings import NEVER

SNOWFLAKE_EPOCH = 1_288_834_974_657
AUTHOR_BITS = 22
AUTHOR_MASK = (1 << AUTHOR_BITS) - 1

POST, REPLY, REPOST, QUOTE, LIKE = 0, 1, 2, 3, 4
"""Kinds, as small numbers because they fill arrays. A like is not a post, but it refers to one."""


class Row(Struct, frozen=True, gc=False):
    """One post. Its number is the classic snowflake: time above, author below, so it is found again without an index."""

    number: int
    kind: int
    target: int
    """Number of the post it answers, passes on or quotes; 0 for none."""
    tag: int
    second_tag: int
    gone_at: int
    """When it is deleted, or what it passes on is."""
    event: int = NO_EVENT
    """The event that it is about. A repost has none of its own: it is about what it passes on."""

    @property
    def author(self) -> int:
        return self.number & AUTHOR_MASK

    def is_about(self, tag: int) -> bool:
        """Whether it carries that hashtag."""
        return tag != NO_TAG and tag in (self.tag, self.second_tag)

    @property
    def ms(self) -> int:
        return (self.number >> AUTHOR_BITS) + SNOWFLAKE_EPOCH


def number_of(ms: int, author: int) -> int:
    return ((ms - SNOWFLAKE_EPOCH) << AUTHOR_BITS) | author


def numbers_of(ms: npt.NDArray[Any], authors: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return ((ms.astype(np.int64) - SNOWFLAKE_EPOCH) << AUTHOR_BITS) | authors.astype(np.int64)


def ms_of(number: int) -> int:
    return (number >> AUTHOR_BITS) + SNOWFLAKE_EPOCH


def times_of(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return (numbers.astype(np.int64) >> AUTHOR_BITS) + SNOWFLAKE_EPOCH


def author_of(number: int) -> int:
    return number & AUTHOR_MASK


def is_live(row: Row, now: int) -> bool:
    return row.ms <= now < row.gone_at


LASTING = NEVER

"""Places that their authors took back: the posts stay, where they were written is forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from bowerbird.model import WithdrawnPlaces
from bowerbird.store.context import SaveContext
from bowerbird.store.payloads.frames import Frames
from bowerbird.store.people.identities import PagePeople

# Ids of networks that tell this are a prefix and a number.
_THEIRS = "author = ? and place is not null and cast(substr(id, ?) as bigint) <= ?"
_HISTORY = f"""
delete from post_history where (before like '%"place"%' or after like '%"place"%')
and post_no in (select post_no from posts where {_THEIRS})
"""
_LOCATED = f"""
delete from judgements where judge = 'place' and reason in ('coordinates', 'place') and (
    (subject = 'post' and id in (select id from posts where {_THEIRS}))
    or (subject = 'user' and id in (select id from users where user_no = ?)))
"""
# The payload holds the place as well.
_POSTS = f"update posts set place = null, raw = null, raw_dictionary = null where {_THEIRS} returning post_no, frame, frame_place"


async def forget_places(s: SaveContext, withdrawn_places: Sequence[WithdrawnPlaces], people: PagePeople) -> None:
    """Takes the place out of every post of a user up to a key, and out of its history."""
    for each in withdrawn_places:
        if each.up_to.isdigit():
            values = (people.keys[each.user], len(s.origin.network) + 2, int(each.up_to))
            await s.tx.execute(_HISTORY, *values)
            await s.tx.execute(_LOCATED, *values, values[0])
            await Frames(s.database).drop(s, await s.tx.fetch(_POSTS, *values))

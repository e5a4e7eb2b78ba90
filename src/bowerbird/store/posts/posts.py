"""Posts: inserted once, updated only when something changed, edits kept in history, tombstones respected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct, field

from bowerbird.db.sqlite.short_columns import written, written_rows
from bowerbird.model import NETWORKS, Post, SavedPost
from bowerbird.ports import Database, Row
from bowerbird.store.absences.authority import is_first_word, may_change, teller, tellers
from bowerbird.store.absences.lagging import LAG
from bowerbird.store.context import SaveContext, Writes, ordered
from bowerbird.store.fields import (
    POST_COUNTERS,
    POST_FIELDS,
    REFERENCES,
    Values,
    bare_post,
    changed_fields,
    edited,
    history_texts,
    is_newer,
    is_older,
    last_columns,
    merged_post,
    post_edited_at,
    post_values,
    reads_otherwise,
    without_copy,
)
from bowerbird.store.intake.carriers import carriers
from bowerbird.store.payloads.frames import COLUMNS, Frames, Incoming, Placed, Slot, place_new, place_payloads
from bowerbird.store.payloads.raw import Packer
from bowerbird.store.payloads.repeated import REPEATED, Repeated, columns_from, columns_of
from bowerbird.store.people.identities import PagePeople
from bowerbird.store.posts.attachments import PartStatements, bears_parts, clear_parts, media_changes, save_parts
from bowerbird.store.posts.by_id import with_ids
from bowerbird.store.posts.counts import add_counted, take_counted
from bowerbird.store.posts.late_versions import Late, LateStatements, save_late
from bowerbird.store.posts.lookups import Emptied, EmptiedStatements, LookupStatements, emptied_posts, look_up
from bowerbird.store.posts.references import divided, join, join_waiting, joining

_stored = last_columns(POST_FIELDS)
_COUNTED = ("kind", "created_at", "listed_at", "is_time_doubtful")
_counted = itemgetter(*(POST_FIELDS.index(name) for name in _COUNTED))
"""What of a post's fields the kept counts depend on."""
_SIGHTED = ("found_at", "found_by", "seen_at", "seen_by")
_CHANGED = ("author", *POST_FIELDS)
_REMEMBER = "insert into post_history (post_no, at, call, before, after) values (?, ?, ?, ?, ?)"


class PostStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        text, bigint, known = database.any("text"), database.any("bigint"), with_ids(database)
        stored = (
            "select post_no, id, author, found_at, seen_at, told_by, deleted_at, frame, frame_place, "
            f"{', '.join(POST_FIELDS)} from posts where {known}{ordered(database, 'post_no')}"
        )
        self.numbers = f"select post_no, id from posts where {known}"
        changed = ", ".join(f"{written(database.dialect, name)} = ?" for name in _CHANGED)
        seen = ", ".join(f"{written(database.dialect, name)} = ?" for name in ("seen_at", "seen_by"))
        taken = f"{seen}, told_by = coalesce(?, told_by), deleted_at = null"
        payload = ", ".join(f"{name} = ?" for name in COLUMNS)
        self.write = f"update posts set {changed}, {taken} where post_no = ?"
        self.write_with_payload = f"update posts set {changed}, {taken}, {payload} where post_no = ?"
        self.seen = f"update posts set {seen} where post_no {bigint}"
        self.each_seen = f"update posts set {seen} where post_no = ?"
        self.undelete = f"delete from deletions where subject = 'post' and id {text}"
        self.last_kept = f"select post_no, max(at) as at from post_history where post_no {bigint} group by post_no"
        self.emptied = EmptiedStatements(database)
        self.parts = PartStatements(database)
        self.late = LateStatements(database)
        self.lookups = LookupStatements(database, stored, self.emptied.deletions)
        self.frames = Frames(database)


class _Posts(Struct):
    """The posts of one page on their way into the table, gathered so that each kind of write is one statement."""

    s: SaveContext
    people: PagePeople
    packer: Packer
    emptied: Emptied
    unkept: Collection[str]
    """Posts whose payloads are not kept."""
    rows: list[tuple[str, int, tuple[Any, ...]]] = field(default_factory=list)
    """Known posts that change: id, number and columns."""
    payloads: dict[str, Incoming] = field(default_factory=dict)
    """Those of known posts that change."""
    outdated: dict[str, tuple[Row, Repeated]] = field(default_factory=dict)
    """Known posts that change without a new payload, which repeats columns as they were: rows, and these columns from now on."""
    unchanged: list[int] = field(default_factory=list)
    recounted: list[int] = field(default_factory=list)
    """Known posts that change in what is counted of them."""
    counted: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Only counters changed: before and after, kept if enough time has passed."""
    history: list[tuple[Any, ...]] = field(default_factory=list)
    found_at: dict[int, int] = field(default_factory=dict)
    new: dict[str, Post] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    """Of new posts, as far as they are known."""
    late: list[Late] = field(default_factory=list)
    observed: int = 0
    """The earliest time at which the service can have said this."""
    current: dict[int, Post] = field(default_factory=dict)
    """Known posts in the version that is stored, or a newer one."""
    rewritten: dict[str, Post] = field(default_factory=dict)
    """Tags, mentions and media may have changed with the text."""

    @property
    def has_versions(self) -> bool:
        """Whether an edit keeps the post's id; on X it is a post of its own."""
        return NETWORKS[self.s.origin.network].edits_keep_ids

    @property
    def tells_edits(self) -> bool:
        """Whether a post without a time of editing is the first version; on Bluesky only streams tell that time."""
        return self.s.is_live or NETWORKS[self.s.origin.network].tells_edits

    def take(self, post: Post, row: Row) -> None:
        """Decides what a sighting of a known post changes."""
        if not may_change(self.s, post.id, row):
            return
        if post.id in self.emptied.bare:
            self.unchanged.append(row["post_no"])
        elif row["deleted_at"] is not None:
            self._update(post, row, self._values(post))
            self.rewritten[post.id] = post
        else:
            self._change(post, row)

    def _change(self, post: Post, row: Row) -> None:
        old: Values = _stored(row)
        values = self._values(post)
        number = row["post_no"]
        if is_first_word(self.s, post.id, row):
            # Another service's view before this one says nothing of what the post was.
            self._update(post, row, edited(old, values, post_edited_at(values)))
            self.rewritten[post.id] = post
            return
        if self._is_past(old, values):
            self.unchanged.append(number)
            self.late += [Late(row, values)] if self.tells_edits else ()
            return
        self.current[number] = post
        new = self._together(old, values)
        if old == new and row["author"] == self.people.ids[post.author]:
            self.unchanged.append(number)
            return
        if old == new:
            self._update(post, row, new)
            return
        changed = changed_fields(POST_FIELDS, old, new)
        texts = history_texts(POST_FIELDS, changed, old, new)
        if POST_COUNTERS.issuperset(changed):
            self.counted[number] = texts
            self.found_at[number] = row["found_at"]
        elif not REFERENCES.issuperset(changed):
            self.history.append((number, self.s.at, self.s.call, *texts))
            self.rewritten[post.id] = post
        self._update(post, row, new)

    def _is_past(self, old: Values, values: Values) -> bool:
        """Whether the page shows the words of an older version than the one stored."""
        if not self.has_versions or not is_older(old, values) or not reads_otherwise(old, values):
            return False
        return self.tells_edits or (post_edited_at(old) or 0) >= self.observed - LAG

    def _together(self, old: Values, values: Values) -> Values:
        """The stored post and the page's sighting of it as one."""
        if not self.has_versions:
            return merged_post(old, values)
        if is_newer(old, values):
            return edited(old, values, post_edited_at(values))
        if is_older(old, values) and reads_otherwise(old, values):
            # An edit that nobody told the time of: it was made by now.
            return edited(old, values, self.s.at)
        return merged_post(old, values)

    def _update(self, post: Post, row: Row, values: Values) -> None:
        seen = (self.s.at, self.s.call, teller(self.s, post.id))
        # Who speaks for a post says whose it is: another server may have shown it as somebody else's.
        author = self.people.ids[post.author]
        if row["deleted_at"] is not None or row["author"] != author or _counted(_stored(row)) != _counted(values):
            self.recounted.append(row["post_no"])
        self.rows.append((post.id, row["post_no"], (author, *values, *seen)))
        slot = None if row["frame"] is None else (row["frame"], row["frame_place"])
        if not self._keep_payload(post, values, slot) and slot is not None:
            self.outdated[post.id] = (row, columns_from(post.id, values))

    def _values(self, post: Post) -> Values:
        """The columns of a post without what its author wants kept out."""
        values = post_values(post)
        if post.id in self.emptied.bare:
            return bare_post(values)
        return without_copy(values) if post.repost_of in self.emptied.uncopied else values

    def _keep_payload(self, post: Post, values: Values, slot: Slot | None) -> bool:
        if post.id in self.unkept:
            return False
        if post.raw:
            self.payloads[post.id] = Incoming(post.raw, columns_from(post.id, values), slot)
        return bool(post.raw)

    async def _renew_payloads(self, frames: Frames) -> None:
        """Payloads that stay while columns change that they repeat."""
        outdated = {known: each for known, each in self.outdated.items() if tuple(columns_of(each[0])) != tuple(each[1])}
        kept = await frames.payloads(self.s.tx, [row for row, _ in outdated.values()]) if outdated else {}
        for known, (row, columns) in outdated.items():
            slot = (row["frame"], row["frame_place"])
            if slot in kept:
                self.payloads[known] = Incoming(kept[slot], columns, slot)

    async def compare_media(self, sql: PostStatements) -> None:
        """Keeps what changed about pictures and films, be it a description alone."""
        for number, texts in (await media_changes(self.s, sql.parts, self.current, self.rewritten)).items():
            self.history.append((number, self.s.at, self.s.call, *texts))
            self.rewritten[self.current[number].id] = self.current[number]

    def touched(self) -> set[int]:
        """Numbers of known posts that are written."""
        return {*self.unchanged, *(number for _, number, _ in self.rows)}

    async def flush(self, sql: PostStatements, along: Writes) -> None:
        """Writes what was gathered, and some rows of other posts along with it."""
        s = self.s
        await self._renew_payloads(sql.frames)
        placed = await place_payloads(s, sql.frames, self.packer, self.payloads) if self.payloads else {}
        writes = await self._insert(sql.frames) if self.new else []
        await s.execute_in(sql.undelete, sorted(self.emptied.returned))
        # What was seen is told in any case, so that PostgreSQL plans the same statement for most pages.
        writes += await self._changes(sql, placed) if self.rows or self.unchanged else [(sql.each_seen, ())]
        await s.tx.execute_all([*writes, *along])
        if self.recounted:
            await add_counted(s, self.recounted)
        if self.late:
            await save_late(s, sql.late, self.late)

    async def _insert(self, frames: Frames) -> Writes:
        """Adds new posts, column by column: most columns are the same for all of them, or empty."""
        s = self.s
        ids, posts = list(self.new), self.new.values()
        is_cut = bool(self.emptied.bare or self.emptied.uncopied)
        values = zip(*map(self._values if is_cut else post_values, posts), strict=True)
        told: dict[str, Sequence[Any]] = {"id": ids, "network": [s.origin.network] * len(ids)}
        told["author"] = [self.people.ids[post.author] for post in posts]
        told |= zip(POST_FIELDS, values, strict=True)
        told |= zip(_SIGHTED, ([value] * len(ids) for value in (s.at, s.call, s.at, s.call)), strict=True)
        told["told_by"] = tellers(s, ids)
        payloads = [b"" if post.id in self.unkept else post.raw for post in posts]
        columns = list(zip(*(told[name] for name in REPEATED), strict=True))
        told |= zip(COLUMNS, zip(*await place_new(s, frames, self.packer, payloads, columns), strict=True), strict=True)
        s.counting.add_new([told[name] for name in ("author", *_COUNTED)], s.at)
        self.numbers, writes = await s.insert_posts(told)
        return writes

    async def _changes(self, sql: PostStatements, placed: Mapping[str, Placed]) -> Writes:
        """What is written of known posts, some of them with payloads."""
        s = self.s
        rows = sorted(self.rows, key=itemgetter(1))
        bare = self._written([(*row, number) for known, number, row in rows if known not in placed])
        with_payload = self._written([(*row, *placed[known], number) for known, number, row in rows if known in placed])
        history = self.history + await self._due_counts(sql)
        if self.recounted:
            await take_counted(s, self.recounted)
        seen = [(s.at, s.call, number) for number in sorted(self.unchanged)]
        if s.database.dialect == "sqlite":
            # Without a round trip to save, one statement for all is the quicker one.
            await s.execute_in(sql.seen, sorted(self.unchanged), s.at, s.call)
            seen = []
        return [
            (sql.write, bare or None),
            (sql.write_with_payload, with_payload or None),
            (_REMEMBER, history or None),
            (sql.each_seen, seen),
        ]

    def _written(self, rows: list[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
        return written_rows(self.s.database.dialect, _CHANGED, rows)

    async def _due_counts(self, sql: PostStatements) -> list[tuple[Any, ...]]:
        """Counter-only changes of posts whose last line of history is old enough."""
        s = self.s
        last = self.found_at | {row["post_no"]: row["at"] for row in await s.fetch_in(sql.last_kept, self.counted)}
        return [
            (number, s.at, s.call, *texts) for number, texts in self.counted.items() if s.at - last[number] >= s.counters_every
        ]


async def save_posts(
    s: SaveContext, sql: PostStatements, posts: Sequence[Post], people: PagePeople, packer: Packer
) -> list[SavedPost]:
    """Writes every post of the page, each once."""
    look = await look_up(s, sql.lookups, posts, people)
    by_id, stored = look.posts, look.stored
    s.counting.note_seen({row["author"] for row in stored.values()}, s.at)
    emptied = await emptied_posts(s, sql.emptied, look, people)
    unkept = {*emptied.uncopied, *carriers(by_id.values(), emptied.uncopied)} if emptied.uncopied else frozenset[str]()
    page = _Posts(s, people, packer, emptied, unkept)
    if any(row["edited_at"] for row in stored.values()):
        page.observed = await s.observed_at()
    for known in [known for known in by_id if known in stored] if stored else ():
        if known not in emptied.down:
            page.take(by_id[known], stored[known])
    page.new = {known: post for known, post in by_id.items() if known not in stored and known not in emptied.down}
    await page.compare_media(sql)
    along, later = divided(look.waiting or (), page.touched())
    await page.flush(sql, joining(s, sql.lookups.references, by_id.values(), along))
    s.counting.strangers = people.new
    if look.waiting is None:
        await join_waiting(s, sql.lookups.references, by_id.values())
    await join(s, sql.lookups.references, by_id.values(), later)
    await _save_parts(s, sql, by_id, stored, page)
    views = {known for known, row in stored.items() if not may_change(s, known, row)}
    return [SavedPost(post.id, post.key, post.author, post.id in page.new, post.id in views) for post in by_id.values()]


async def _save_parts(
    s: SaveContext, sql: PostStatements, by_id: Mapping[str, Post], stored: Mapping[str, Row], page: _Posts
) -> None:
    bare = page.emptied.bare
    whole = [post for post in (*page.new.values(), *page.rewritten.values()) if post.id not in bare]
    numbers = page.numbers | {known: row["post_no"] for known, row in stored.items()}
    if not page.new.keys() <= numbers.keys():
        missing = [post.id for post in page.new.values() if post.id not in numbers and bears_parts(s, post)]
        numbers |= {row["id"]: row["post_no"] for row in await s.fetch_in(sql.numbers, missing)}
    if page.rewritten:
        await clear_parts(s, sql.parts, [numbers[known] for known in page.rewritten])
    await save_parts(s, list(by_id.values()), whole, numbers, page.people)

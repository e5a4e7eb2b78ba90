"""The row of every file: which wait, who fetches which, what became of them. All state of the collector is here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.db.postgres.pages_lock import ALONE
from bowerbird.db.sqlite.ends_of_ids import is_same
from bowerbird.model import Backoff, Claim, Fetched, MediaState
from bowerbird.modules.media.files import StoredFile
from bowerbird.ports import Claims, Database, Row, Transaction

HOLD = timedelta(minutes=10)
"""How long a file is one worker's business; longer than any download may take."""
MOST_ATTEMPTS = 8
RETRIES = Backoff(first=timedelta(minutes=1), most=timedelta(hours=6), jitter=0.25)
"""A host that was down has hundreds of files to give: they do not come back to it all at the same moment."""
_INTAKE = 500
_NAME = "media "
_FIRST_DUE = f"select file, due from media_files where state = '{MediaState.WAITING}' and kind = ? order by due, file limit ?"
# The lock first: two who look at the same time shall not both take the same rows in.
_POSITION = "update media_intake set media_no = media_no returning media_no"
_SAVED = f"select pg_advisory_xact_lock({ALONE})"
_MOVE_ON = "update media_intake set media_no = ?"
_NEWS = f"""
select 1 as news where exists (select 1 from media where media_no > (select media_no from media_intake))
    or exists (select 1 from media_files where state = '{MediaState.DOUBTED}')
"""
_NEXT_MEDIA = "select media_no, id, kind, url from media where media_no > ? order by media_no limit ?"
_ADD = f"""
insert into media_files (id, kind, url, state, due, found_at) values (?, ?, ?, '{MediaState.WAITING}', ?, ?)
on conflict (id) do update set state = '{MediaState.WAITING}', url = excluded.url, due = excluded.due, attempts = 0, error = null
where media_files.state = '{MediaState.REMOVED}'
"""
_TRY = "update media_files set attempts = attempts + 1 where file = ?"
# By both: on SQLite the number of a file that was forgotten while it was fetched may be another's by now.
_SAME = "file = ? and id = ?"
_KEPT = f"""
update media_files set state = '{MediaState.KEPT}', sha256 = ?, bytes = ?, type = ?, path = ?, kept_at = ?, error = null
where {_SAME} and state = '{MediaState.WAITING}'
"""
_LATER = f"update media_files set state = ?, error = ?, due = ? where {_SAME} and state = '{MediaState.WAITING}'"
_DOUBTED = f"""
select f.file, f.id, case when exists (select 1 from media m where {is_same("m.id", "f.id")}) then 1 else 0 end as is_shown
from media_files f where f.state = '{MediaState.DOUBTED}' order by f.file limit ?
"""
_CLEARED = f"""
update media_files set state = case when path is not null then '{MediaState.KEPT}'
    when attempts < ? then '{MediaState.WAITING}' else '{MediaState.GIVEN_UP}' end
where file = ? and state = '{MediaState.DOUBTED}'
"""
_REMOVED = f"""
update media_files set state = '{MediaState.REMOVED}', url = '', sha256 = null, bytes = null, type = null, path = null,
    error = null where file = ? and state = '{MediaState.DOUBTED}'
"""


class Wanted(Struct, frozen=True):
    """A file this worker may fetch now."""

    file: int
    media: str
    url: str
    attempts: int
    """This one included."""
    claim: Claim


class Doubt(Struct, frozen=True):
    """A file one of whose posts is gone; `is_shown`: another one still shows it."""

    file: int
    media: str
    is_shown: bool


class MediaFileRows:
    """Reads and writes `media_files` for one worker; each method is one step of a transaction of its caller."""

    def __init__(self, database: Database, claims: Claims, kinds: Sequence[str]) -> None:
        self._is_shared = database.dialect == "postgresql"
        self._claims = claims
        self._kinds = kinds
        lock = " for update skip locked" if database.dialect == "postgresql" else ""
        self._next = (
            f"select file, id, url, attempts from media_files where state = '{MediaState.WAITING}' and kind = ? and due <= ? "
            f"order by due, file limit ?{lock}"
        )

    async def has_news(self, tx: Transaction) -> bool:
        """Whether there are media not taken in, or doubts; only reads."""
        return await tx.fetch_one(_NEWS) is not None

    async def take_in(self, tx: Transaction, now: datetime) -> bool:
        """Adds the files of media rows not looked at yet; whether there may be more."""
        if self._is_shared:
            # Pages are saved at once: one that is not committed yet may have lower numbers than those that are seen.
            await tx.execute(_SAVED)
        row = await tx.fetch_one(_POSITION)
        rows = await tx.fetch(_NEXT_MEDIA, row["media_no"] if row else 0, _INTAKE)
        if not rows:
            return False
        at = to_micros(now)
        await tx.execute_many(_ADD, [(each["id"], each["kind"], each["url"], at, at) for each in rows])
        await tx.execute(_MOVE_ON, rows[-1]["media_no"])
        return len(rows) == _INTAKE

    async def claim(self, tx: Transaction, room: int, now: datetime) -> list[Wanted]:
        """The files to fetch next, ours until `HOLD` is over."""
        held = await self._claims.held(tx, _NAME, now)
        claimed: list[Wanted] = []
        for kind in self._kinds:
            left = room - len(claimed)
            # Those that are being fetched come first: they are looked over.
            rows = await tx.fetch(self._next, kind, to_micros(now), left + len(held)) if left else ()
            for row in [row for row in rows if _name(row) not in held][:left]:
                claim = await self._claims.take(tx, _name(row), now + HOLD, now)
                if isinstance(claim, Claim):
                    claimed.append(Wanted(row["file"], row["id"], row["url"], row["attempts"] + 1, claim))
        await tx.execute_many(_TRY, [(each.file,) for each in claimed])
        return claimed

    async def keep(self, tx: Transaction, wanted: Wanted, shelved: StoredFile, kind: str, now: datetime) -> bool:
        """The file is on disk; False when it is no longer wanted, or another worker's business."""
        if not await self._claims.release(tx, wanted.claim):
            return False
        values = (shelved.sha256, shelved.size, kind[:200] or None, shelved.path, to_micros(now))
        return await tx.execute(_KEPT, *values, wanted.file, wanted.media) == 1

    async def is_unwanted(self, tx: Transaction, wanted: Wanted) -> bool:
        """Whether a post that showed it was taken back, or forgotten, while it was being fetched."""
        row = await tx.fetch_one(f"select state from media_files where {_SAME}", wanted.file, wanted.media)
        return row is None or row["state"] in (MediaState.DOUBTED, MediaState.REMOVED)

    async def fail(self, tx: Transaction, wanted: Wanted, fetched: Fetched, now: datetime) -> None:
        """It is tried again later, or given up; nothing changes when it is another worker's business by now."""
        if not await self._claims.release(tx, wanted.claim):
            return
        is_over = fetched.is_final or wanted.attempts >= MOST_ATTEMPTS
        due = now + max(RETRIES.wait(wanted.attempts, wanted.media), min(fetched.retry_after or timedelta(0), RETRIES.most))
        state = MediaState.GIVEN_UP if is_over else MediaState.WAITING
        await tx.execute(_LATER, state, fetched.failure[:500], to_micros(due), wanted.file, wanted.media)

    async def doubts(self, tx: Transaction) -> list[Doubt]:
        rows = await tx.fetch(_DOUBTED, _INTAKE)
        return [Doubt(row["file"], row["id"], bool(row["is_shown"])) for row in rows]

    async def resolve(self, tx: Transaction, doubts: Sequence[Doubt]) -> None:
        await tx.execute_many(_CLEARED, [(MOST_ATTEMPTS, each.file) for each in doubts if each.is_shown])
        await tx.execute_many(_REMOVED, [(each.file,) for each in doubts if not each.is_shown])

    async def next_due(self, tx: Transaction, now: datetime) -> datetime | None:
        """When the first file is due that nobody fetches."""
        held = await self._claims.held(tx, _NAME, now)
        rows = [row for kind in self._kinds for row in await tx.fetch(_FIRST_DUE, kind, len(held) + 1)]
        times = [row["due"] for row in rows if _name(row) not in held]
        return from_micros(min(times)) if times else None


def _name(row: Row) -> str:
    """What the claim to a file is called."""
    return f"{_NAME}{row['file']}"

"""Raw payloads, compressed with a dictionary of the shapes that the first items of each kind had.

A dictionary holds no word that a person wrote (`shapes.py`): it stays for good, in backups too, when its payloads are deleted.
"""

from __future__ import annotations

import zstandard

from bowerbird.model import NETWORKS, Subject
from bowerbird.ports import Transaction
from bowerbird.store.payloads.shapes import dictionary, shape

Kind = tuple[str, Subject]
Packed = tuple[bytes | None, int | None]

SAMPLES = 1_000
_LEVEL = 3
_NEWEST = "select dictionary, trained_at, length(body) as size from dictionaries order by dictionary desc limit 1"
_KINDS = {f"{network}/{subject.value}": (network, subject) for network in NETWORKS for subject in Subject}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_PAGES = 100
"""So many pages are packed before somebody looks whether another process has learned a dictionary."""
_LONGEST_RAW = 64 * 1024 * 1024
_LONGEST_SAMPLE = 65_536
_SHORTEST = 8
"""zstd takes no dictionary that is shorter."""


class Packer:
    """Compresses payloads, with a dictionary only where the database has it."""

    def __init__(self) -> None:
        self._plain = zstandard.ZstdCompressor(level=_LEVEL)
        self._packers: dict[Kind, tuple[int, zstandard.ZstdCompressor]] = {}
        self._shapes: dict[Kind, list[bytes]] = {}
        self._shapeless: set[Kind] = set()
        self._newest: tuple[int, int, int] | None = None
        """The last dictionary in the table when it was read."""
        self._looks = 0
        """Pages until the table is looked at again."""

    async def prepare(self, tx: Transaction) -> None:
        """Reads the dictionaries when there are others than before: one that was rolled back is thus never used again, even where
        another one has come to have its number. Those of other processes are found a little later."""
        if self._looks:
            self._looks -= 1
            return
        self._looks = _PAGES
        tx.on_rollback(self._look_again)
        row = await tx.fetch_one(_NEWEST)
        newest = (row["dictionary"], row["trained_at"], row["size"]) if row else None
        if newest == self._newest:
            return
        self._packers.clear()
        # One without a kind was learned from content: nothing more is packed with it.
        for row in await tx.fetch("select dictionary, kind, body from dictionaries order by dictionary"):
            if kind := _KINDS.get(row["kind"]):
                body = zstandard.ZstdCompressionDict(bytes(row["body"]), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
                body.precompute_compress(level=_LEVEL)
                self._packers[kind] = (int(row["dictionary"]), zstandard.ZstdCompressor(level=_LEVEL, dict_data=body))
        self._newest = newest

    def _look_again(self) -> None:
        self._looks = 0

    def pack(self, kind: Kind, raw: bytes) -> Packed:
        if not raw:
            return None, None
        if (known := self._packers.get(kind)) is not None:
            return known[1].compress(raw), known[0]
        self._remember(kind, raw)
        return self._plain.compress(raw), None

    def _remember(self, kind: Kind, raw: bytes) -> None:
        shapes = self._shapes.setdefault(kind, [])
        is_wanted = len(shapes) < SAMPLES and kind in _NAMES and kind not in self._shapeless and len(raw) <= _LONGEST_SAMPLE
        if is_wanted and (seen := shape(raw)) is not None:
            shapes.append(seen)

    async def learn(self, tx: Transaction, at: int) -> None:
        """Makes a dictionary for each kind of which enough was seen; it is used from the next page on."""
        for kind in [kind for kind, shapes in self._shapes.items() if len(shapes) >= SAMPLES]:
            body = dictionary(self._shapes.pop(kind))
            if len(body) < _SHORTEST:
                self._shapeless.add(kind)
                continue
            await tx.execute("insert into dictionaries (kind, body, trained_at) values (?, ?, ?)", _NAMES[kind], body, at)
            self._look_again()


class Unpacker:
    """Reads payloads back, whichever dictionary they were packed with."""

    def __init__(self) -> None:
        self._plain = zstandard.ZstdDecompressor()
        self._unpackers: dict[int, zstandard.ZstdDecompressor] = {}

    async def unpack(self, tx: Transaction, body: bytes | None, dictionary: int | None) -> bytes | None:
        if body is None:
            return None
        unpacker = self._plain if dictionary is None else await self._with(tx, dictionary)
        return unpacker.decompress(body, max_output_size=_LONGEST_RAW)

    async def _with(self, tx: Transaction, dictionary: int) -> zstandard.ZstdDecompressor:
        if dictionary not in self._unpackers:
            row = await tx.fetch_one("select body from dictionaries where dictionary = ?", dictionary)
            # By its first bytes zstd tells a list of shapes from what earlier versions trained.
            body = zstandard.ZstdCompressionDict(bytes(row["body"]) if row else b"")
            self._unpackers[dictionary] = zstandard.ZstdDecompressor(dict_data=body)
        return self._unpackers[dictionary]

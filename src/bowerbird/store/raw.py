"""Raw payloads, compressed with a dictionary that is learned from the first items of each kind.

A dictionary carries its kind in its own zstd id, so that the table needs no more than number and body.
"""

from __future__ import annotations

from collections.abc import Sequence

import zstandard

from bowerbird.model import Network, Subject
from bowerbird.ports import Transaction

Kind = tuple[str, Subject]
Packed = tuple[bytes | None, int | None]

SAMPLES = 1_000
_LONGEST_SAMPLE = 8_192
_SIZE = 65_536
_LEVEL = 3
_FIRST_ID = 40_000
_KINDS: dict[Kind, int] = {
    (network.value, subject): _FIRST_ID + 10 * n + m for n, network in enumerate(Network) for m, subject in enumerate(Subject)
}
_KIND_OF = {number: kind for kind, number in _KINDS.items()}
_LONGEST_RAW = 64 * 1024 * 1024


class Packer:
    """Compresses payloads, with a dictionary only where the database has it."""

    def __init__(self) -> None:
        self._plain = zstandard.ZstdCompressor(level=_LEVEL)
        self._packers: dict[Kind, tuple[int, zstandard.ZstdCompressor]] = {}
        self._samples: dict[Kind, list[bytes]] = {}
        self._untrainable: set[Kind] = set()
        self._newest: int | None = None
        """The last dictionary in the table when it was read."""

    async def prepare(self, tx: Transaction) -> None:
        """Reads the dictionaries when there are others than before: one that was rolled back is thus never used again."""
        row = await tx.fetch_one("select max(dictionary) as newest from dictionaries")
        newest = row["newest"] if row else None
        if newest == self._newest:
            return
        self._packers.clear()
        for row in await tx.fetch("select dictionary, body from dictionaries order by dictionary"):
            body = zstandard.ZstdCompressionDict(bytes(row["body"]))
            if kind := _KIND_OF.get(body.dict_id()):
                body.precompute_compress(level=_LEVEL)
                compressor = zstandard.ZstdCompressor(level=_LEVEL, dict_data=body, write_dict_id=False)
                self._packers[kind] = (int(row["dictionary"]), compressor)
        self._newest = newest

    def pack(self, kind: Kind, raw: bytes) -> Packed:
        if not raw:
            return None, None
        if (known := self._packers.get(kind)) is not None:
            return known[1].compress(raw), known[0]
        self._remember(kind, raw)
        return self._plain.compress(raw), None

    def _remember(self, kind: Kind, raw: bytes) -> None:
        samples = self._samples.setdefault(kind, [])
        if len(samples) < SAMPLES and kind in _KINDS and kind not in self._untrainable:
            samples.append(raw[:_LONGEST_SAMPLE])

    async def learn(self, tx: Transaction, at: int) -> None:
        """Trains a dictionary for each kind of which enough was seen; it is used from the next page on."""
        for kind in [kind for kind, samples in self._samples.items() if len(samples) >= SAMPLES]:
            body = train(kind, self._samples.pop(kind))
            if body is None:
                self._untrainable.add(kind)
                continue
            await tx.execute("insert into dictionaries (body, trained_at) values (?, ?)", body, at)


def train(kind: Kind, samples: Sequence[bytes]) -> bytes | None:
    """The dictionary of these samples, the same for the same samples; None when they have nothing in common to learn."""
    try:
        return zstandard.train_dictionary(
            _SIZE, list(samples), k=256, d=6, f=18, dict_id=_KINDS[kind], level=_LEVEL, threads=0
        ).as_bytes()
    except zstandard.ZstdError:
        return None


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
            body = zstandard.ZstdCompressionDict(bytes(row["body"]) if row else b"")
            self._unpackers[dictionary] = zstandard.ZstdDecompressor(dict_data=body)
        return self._unpackers[dictionary]

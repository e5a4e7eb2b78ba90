"""A repository as a CAR file: records in a Merkle search tree under a commit, with true CIDs (the signature is a dummy)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import libipld

_SIGNATURE = bytes(64)
Blocks = dict[bytes, bytes]
"""Blocks by CID."""
Entry = tuple[bytes, int, bytes]
"""Path, layer in the tree, CID of the record."""


def export(did: str, rev: str, records: Mapping[str, Any], shown: frozenset[str] | None = None) -> bytes:
    """The whole repository, or the whole tree with only some records (`shown`) for one who has the others."""
    blocks: Blocks = {}
    left_out: set[bytes] = set()
    entries: list[Entry] = []
    for path in sorted(records):
        cid = _add(blocks, linked(records[path]))
        if shown is not None and path not in shown:
            left_out.add(cid)
        entries.append((path.encode(), _layer(path.encode()), cid))
    root = _commit(did, rev, entries, blocks)
    return _archive(root, {cid: block for cid, block in blocks.items() if cid not in left_out})


def commit(did: str, rev: str, written: Mapping[str, bytes], *, is_bare: bool = False) -> tuple[bytes, bytes]:
    """The CID of a commit, and the archive that announces it: the commit, the records written by path, and a tree over them.

    The true tree would need the whole repository for every commit; this one holds only what the commit wrote. A bare
    archive has nothing but the commit.
    """
    blocks: Blocks = {}
    cids = {path: _keep(blocks, block) for path, block in written.items()}
    root = _commit(did, rev, [(path.encode(), _layer(path.encode()), cids[path]) for path in sorted(cids)], blocks)
    return root, _archive(root, {root: blocks[root]} if is_bare else dict(reversed(blocks.items())))


def cid_of_block(block: bytes) -> bytes:
    return b"\x01\x71\x12\x20" + sha256(block).digest()


def _commit(did: str, rev: str, entries: Sequence[Entry], blocks: Blocks) -> bytes:
    tree = _tree(entries, max((layer for _, layer, _ in entries), default=0), blocks)
    return _add(blocks, {"did": did, "version": 3, "data": tree, "rev": rev, "prev": None, "sig": _SIGNATURE})


def _archive(root: bytes, blocks: Blocks) -> bytes:
    header = libipld.encode_dag_cbor({"roots": [root], "version": 1})
    parts = [cid + block for cid, block in blocks.items()]
    return b"".join(_varint(len(part)) + part for part in (header, *parts))


def linked(value: Any) -> Any:
    """A record's JSON form with its links as the CIDs they are."""
    if isinstance(value, dict):
        link = value.get("$link") if len(value) == 1 else None
        return libipld.decode_multibase(link)[1] if link else {key: linked(each) for key, each in value.items()}
    return [linked(each) for each in value] if isinstance(value, list) else value


def _add(blocks: Blocks, value: Any) -> bytes:
    return _keep(blocks, libipld.encode_dag_cbor(value))


def _keep(blocks: Blocks, block: bytes) -> bytes:
    cid = cid_of_block(block)
    blocks[cid] = block
    return cid


def _layer(path: bytes) -> int:
    """How high a path stands: leading zeros of its hash, two bits at a time."""
    return (256 - int.from_bytes(sha256(path).digest()).bit_length()) // 2


def _tree(entries: Sequence[Entry], layer: int, blocks: Blocks) -> bytes:
    """The node of one layer over sorted entries; entries below it go into subtrees between its own."""
    node: dict[str, Any] = {"l": None, "e": []}
    below: list[Entry] = []
    before = b""
    for entry in (*entries, None):
        if entry is not None and entry[1] < layer:
            below.append(entry)
            continue
        if below:
            link = _tree(below, layer - 1, blocks)
            (node["e"][-1] if node["e"] else node)["t" if node["e"] else "l"] = link
            below = []
        if entry is not None:
            kept = _shared(before, entry[0])
            node["e"].append({"p": kept, "k": entry[0][kept:], "v": entry[2], "t": None})
            before = entry[0]
    return _add(blocks, node)


def _shared(one: bytes, other: bytes) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return length


def _varint(number: int) -> bytes:
    digits = b""
    while number > 127:
        digits += bytes([number & 127 | 128])
        number >>= 7
    return digits + bytes([number])

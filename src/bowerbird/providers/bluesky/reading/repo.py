"""A repository export (CAR) taken apart: the commit, the tree of record paths, and the records as JSON. Pure.

Signatures and hashes are not checked: the export comes from the host that was asked, like every other answer.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import libipld
import msgspec
from msgspec import Struct

from bowerbird.providers.bluesky.reading import car as car_files
from bowerbird.providers.bluesky.reading.car import Blocks

_CID_BEGINNINGS = (b"\x01\x71\x12\x20", b"\x01\x55\x12\x20")
"""CIDs of records and of files: version 1, DAG-CBOR or raw, SHA-256."""
_CID_LENGTH = 36
_LONGEST_PATH = 1024
"""Bytes; a collection has 317 at most, a key 512. Longer ones could be made to grow with every entry."""


class Repo(Struct, frozen=True):
    """One repository as exported; of a partial export (`since`) only the new records are there."""

    did: str
    rev: str
    records: dict[str, bytes]
    """By path (`collection/rkey`), each a block of its own that is not decoded yet."""


def opened(car: bytes) -> Repo:
    """The export's repository; raises ValueError for anything that is none."""
    header, blocks = car_files.opened(car)
    roots = header.get("roots") if isinstance(header, dict) else None
    root = roots[0] if isinstance(roots, list) and roots else None
    commit = car_files.decoded(blocks[root]) if isinstance(root, bytes) and root in blocks else None
    if not isinstance(commit, dict):
        raise ValueError("the export has no commit")
    did, rev, tree = (commit.get(name) for name in ("did", "rev", "data"))
    if not isinstance(did, str) or not isinstance(rev, str) or not isinstance(tree, bytes):
        raise ValueError("the export's commit names no repository")
    return Repo(did, rev, {path: blocks[cid] for path, cid in _paths(tree, blocks) if cid in blocks})


def is_empty(car: bytes) -> bool:
    """Whether it has no blocks at all: a host's answer when nothing has changed since."""
    return not car_files.opened(car)[1]


def as_json(block: bytes) -> bytes:
    """The record of a block as the JSON that the other queries would show; raises one of `UNREADABLE`."""
    return msgspec.json.encode(_plain(car_files.decoded(block)))


def _paths(tree: bytes, blocks: Blocks) -> Iterator[tuple[str, bytes]]:
    """Path and CID of every record under the tree's nodes; nodes that a partial export leaves out are passed over."""
    waiting, seen = [tree], {tree}
    while waiting:
        block = blocks.get(waiting.pop())
        if block is None:
            continue
        node = car_files.decoded(block)
        for below in _subtrees(node):
            if below not in seen:
                seen.add(below)
                waiting.append(below)
        yield from _entries(node)


def _subtrees(node: Any) -> list[bytes]:
    links = [node.get("l"), *(entry.get("t") for entry in _rows(node))]
    return [link for link in links if isinstance(link, bytes)]


def _entries(node: Any) -> Iterator[tuple[str, bytes]]:
    key = b""
    for entry in _rows(node):
        kept, rest, cid = (entry.get(name) for name in ("p", "k", "v"))
        if not isinstance(kept, int) or not isinstance(rest, bytes) or not isinstance(cid, bytes) or not 0 <= kept <= len(key):
            raise ValueError("the export's tree has a broken entry")
        key = key[:kept] + rest
        if len(key) > _LONGEST_PATH:
            raise ValueError("the export's tree has a path without end")
        yield key.decode("ascii"), cid


def _rows(node: Any) -> list[dict[str, Any]]:
    rows = node.get("e") if isinstance(node, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("the export's tree has a broken node")
    return rows


def _plain(value: Any) -> Any:
    # Most values are texts: not calling for them halves the time, and a firehose comes through here.
    if isinstance(value, dict):
        return {key: each if type(each) is str else _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [each if type(each) is str else _plain(each) for each in value]
    if isinstance(value, bytes):
        is_link = len(value) == _CID_LENGTH and value.startswith(_CID_BEGINNINGS)
        return {"$link": libipld.encode_cid(value)} if is_link else {"$bytes": b64encode(value).decode().rstrip("=")}
    return value

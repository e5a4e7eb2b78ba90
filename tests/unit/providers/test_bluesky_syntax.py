"""Names of the AT Protocol, against samples and, where they are at hand, the protocol's own test vectors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bowerbird.providers.bluesky.syntax import at_uri, is_did, is_handle, is_nsid, is_record_key, is_tid, tid_time

VECTORS = Path(__file__).parents[4] / "shared" / "data" / "bluesky-lexicons" / "interop-test-files" / "syntax"
CHECKS: dict[str, Callable[[str], bool]] = {
    "aturi": lambda text: at_uri(text) is not None,
    "did": is_did,
    "handle": is_handle,
    "nsid": is_nsid,
    "recordkey": is_record_key,
    "tid": is_tid,
}


def vectors(kind: str, verdict: str) -> list[str]:
    lines = (VECTORS / f"{kind}_syntax_{verdict}.txt").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.skipif(not VECTORS.is_dir(), reason="the test vectors are not on this machine")
@pytest.mark.parametrize("kind", CHECKS)
def test_the_protocols_own_samples_are_judged_rightly(kind: str) -> None:
    assert [text for text in vectors(kind, "valid") if not CHECKS[kind](text)] == []
    assert [text for text in vectors(kind, "invalid") if CHECKS[kind](text)] == []


def test_a_tid_tells_its_time() -> None:
    assert tid_time("3mmoojp4cd223") == datetime(2026, 5, 25, 14, 23, 28, 756000, tzinfo=UTC)
    assert tid_time("2222222222222") == datetime(1970, 1, 1, tzinfo=UTC)
    assert tid_time("self") is None
    assert tid_time("zzzzzzzzzzzzz") is None


def test_an_at_uri_comes_apart_and_together_again() -> None:
    uri = at_uri("at://did:plc:abc/app.bsky.feed.post/3mmoojp4cd223")
    assert uri is not None
    assert (uri.authority, uri.collection, uri.rkey) == ("did:plc:abc", "app.bsky.feed.post", "3mmoojp4cd223")
    assert str(uri) == "at://did:plc:abc/app.bsky.feed.post/3mmoojp4cd223"
    assert str(at_uri("at://alice.test")) == "at://alice.test"

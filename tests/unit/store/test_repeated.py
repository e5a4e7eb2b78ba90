"""What payloads repeat of their posts' columns is left out and put back exactly."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.store.payloads.repeated import BEGIN, REPEATED, all_without_repeated, with_repeated, without_repeated

COLUMNS = ("at://did:plc:one/post/1", 'said "so"\n👋', None, "at://did:plc:two/post/2", "at://did:plc:two/post/2", None, None)
RECORD = {"text": COLUMNS[1], "reply": {"root": COLUMNS[4], "parent": COLUMNS[3]}, "langs": ["en"]}


def test_a_payload_is_kept_without_the_text_and_the_references_and_read_with_them() -> None:
    payload = msgspec.json.encode(RECORD)
    kept = without_repeated(payload, COLUMNS)
    assert (b"said" in kept, b"did:plc" in kept) == (False, False)
    assert with_repeated(kept, COLUMNS) == payload


def test_a_payload_that_repeats_nothing_is_kept_as_it_is() -> None:
    for payload in (b'{"text":"other"}', b'{"text":"with a mark \x01 and said"}', b""):
        assert without_repeated(payload, COLUMNS) == payload
        assert with_repeated(payload, COLUMNS) == payload


def test_many_payloads_are_kept_like_each_alone() -> None:
    for odd in (b'{"text":"other"}', b'{"text":"with a mark \x01 and said"}', b"\0"):
        payloads = [msgspec.json.encode(RECORD), odd, msgspec.json.encode([COLUMNS[0], COLUMNS[0]])]
        kept = all_without_repeated(payloads, [COLUMNS] * len(payloads))
        assert kept == [without_repeated(payload, COLUMNS) for payload in payloads]
        assert [with_repeated(each, COLUMNS) for each in (kept[0], kept[2])] == [payloads[0], payloads[2]]


def test_a_name_that_will_change_stays_in_the_payload() -> None:
    waiting = "mastodon:example.org/12345"
    payload = msgspec.json.encode({"in_reply_to": waiting})
    assert without_repeated(payload, (None, None, None, waiting, None, None, None)) == payload


def test_of_a_payload_whose_columns_are_gone_nothing_is_read() -> None:
    kept = without_repeated(msgspec.json.encode(RECORD), COLUMNS)
    assert with_repeated(kept, (None,) * len(REPEATED)) == b""


_texts = st.one_of(st.none(), st.text(max_size=30), st.text(alphabet='ab"\\\x01 é', max_size=30))


@given(columns=st.tuples(*(_texts for _ in REPEATED)), parts=st.lists(st.one_of(st.integers(0, 6), st.binary(max_size=20))))
def test_whatever_is_kept_is_read_as_it_came(columns: tuple[str | None, ...], parts: list[int | bytes]) -> None:
    payload = b"".join(part if isinstance(part, bytes) else msgspec.json.encode(columns[part]) for part in parts)
    kept = without_repeated(payload, columns)
    assert with_repeated(kept, columns) == payload or payload.startswith(BEGIN)


@pytest.mark.parametrize("other", ["ok", None])
def test_a_large_page_of_which_few_are_asked_that_have_words_leaves_them_out(other: str | None) -> None:
    # Every fifth of 320 is asked.
    columns = [(COLUMNS[0], f"words of number {n}" if n % 5 else other, *COLUMNS[2:]) for n in range(320)]
    payloads = [msgspec.json.encode({"text": each[1]}) for each in columns]
    kept = all_without_repeated(payloads, columns)
    assert not any(b"words of" in each for each in kept)
    assert list(map(with_repeated, kept, columns)) == payloads


def test_a_large_page_leaves_out_what_it_repeats_and_is_read_back_though_some_columns_are_never_repeated() -> None:
    columns = [(f"at://did:plc:one/post/{n}", f"words of number {n}", *COLUMNS[2:]) for n in range(600)]
    payloads = [msgspec.json.encode(RECORD | {"text": each[1]}) for each in columns]
    kept = all_without_repeated(payloads, columns)
    assert not any(b"words of" in each or b"did:plc" in each for each in kept)
    assert list(map(with_repeated, kept, columns)) == payloads

"""What passes between coordinator and workers: bodies, versions, addresses and the description of it all."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec
import pytest
import zstandard

from bowerbird.errors import Busy, DiskFull, Fenced, UserError
from bowerbird.remote.bodies import GZIP, PLAIN, ZSTD, TooLarge, packed, unpacked
from bowerbird.remote.description import openapi
from bowerbird.remote.problems import Fault, Problem, error_of, problem_of
from bowerbird.remote.services import SERVICES
from bowerbird.remote.versions import misunderstanding
from bowerbird.remote.wire import JSON, MESSAGEPACK, OLDEST, WIRE, Beat, read, written
from bowerbird.remote.worker.link import Address
from bowerbird.transport.serving import Listening
from failures import raises_code

_LARGE = b"much of the same " * 500


@pytest.mark.parametrize(("accepted", "manner"), [("zstd, gzip", ZSTD), ("gzip", GZIP), ("", PLAIN)])
def test_a_body_comes_out_as_it_went_in(accepted: str, manner: str) -> None:
    body, how = packed(_LARGE, accepted)
    assert how == manner
    assert unpacked(body, how) == _LARGE
    assert packed(b"short", accepted) == (b"short", PLAIN)


@pytest.mark.parametrize(
    ("bomb", "manner"),
    [(zlib.compress(bytes(1 << 20), wbits=31), GZIP), (zstandard.compress(bytes(1 << 20)), ZSTD), (bytes(5000), PLAIN)],
)
def test_no_more_is_unpacked_than_is_allowed(bomb: bytes, manner: str) -> None:
    with pytest.raises(TooLarge) as caught:
        unpacked(bomb, manner, 4000)
    assert "4,000" in caught.value.problem


@pytest.mark.parametrize("manner", [GZIP, ZSTD, "br"])
def test_what_cannot_be_unpacked_is_refused_in_words(manner: str) -> None:
    with raises_code(UserError, "invalid_body") as caught:
        unpacked(b"no such thing", manner)
    assert manner in caught.value.problem


def test_a_value_is_the_same_in_both_formats() -> None:
    for manner in (JSON, MESSAGEPACK):
        assert read(written(Beat(worker=7), manner), Beat, manner) == Beat(worker=7)


def test_the_newer_side_says_which_of_them_is_to_be_upgraded() -> None:
    assert misunderstanding(str(WIRE)) is misunderstanding(str(OLDEST)) is None
    newer, older, none = (misunderstanding(said) for said in (str(WIRE + 1), str(OLDEST - 1), ""))
    assert newer is not None
    assert older is not None
    assert none is not None
    assert (newer.code, older.code, none.code) == ("wrong_version", "wrong_version", "missing_header")
    assert newer.advice != older.advice


@pytest.mark.parametrize("error", [Fenced("a"), Busy("b"), DiskFull("c"), UserError("d")])
def test_an_error_is_the_same_on_the_other_side(error: Exception) -> None:
    heard = error_of(problem_of(error))
    assert (type(heard), str(heard)) == (type(error), str(error))


def test_a_fault_of_the_coordinator_costs_one_call_and_ends_no_worker() -> None:
    assert isinstance(error_of(problem_of(ZeroDivisionError("x"))), Fault)
    assert isinstance(error_of(Problem("of a later version", "failed", "y")), Fault)


def test_the_description_names_every_service_and_all_its_references_are_there() -> None:
    document = openapi()
    assert document["openapi"].startswith("3.1")
    assert {path.rsplit("/", 1)[1] for path in document["paths"]} == set(SERVICES)
    text = msgspec.json.encode(document).decode()
    named = {part.split('"', 1)[0] for part in text.split('"#/components/schemas/')[1:]}
    assert named
    assert named <= document["components"]["schemas"].keys()


@pytest.mark.parametrize(
    ("address", "code", "named"),
    [
        (Address(base="coordinator", token="t"), "invalid_address", "'coordinator'"),
        (Address(base="http://10.0.0.1:8440", token="t"), "insecure_address", "http://10.0.0.1:8440"),
        (Address(base="https://10.0.0.1", token="t", authority=Path("/no/such/file")), "file_not_found", "/no/such/file"),
    ],
)
def test_a_worker_does_not_send_its_token_where_others_could_read_it(address: Address, code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        address.check()
    assert named in caught.value.problem


def test_a_worker_may_go_to_its_own_machine_or_where_it_is_told_to_without_tls() -> None:
    for base in ("http://127.0.0.1:8440", "http://localhost:1", "http://[::1]:8440", "https://coordinator.example"):
        Address(base=base, token="t").check()
    Address(base="http://10.0.0.1", token="t", may_be_plain=True).check()
    assert "secret" not in repr(Address(base="https://a.example", token="secret"))


@pytest.mark.parametrize(
    ("where", "code", "named"),
    [
        (Listening(host="0.0.0.0"), "insecure_address", "0.0.0.0"),
        (Listening(certificate=Path("a.pem")), "needs_option", "--key"),
        (Listening(certificate=Path("/no/a.pem"), key=Path("/no/b.pem")), "file_not_found", "/no/a.pem"),
    ],
)
def test_a_coordinator_serves_others_with_tls_alone(where: Listening, code: str, named: str) -> None:
    with raises_code(UserError, code) as caught:
        where.check()
    assert named in str(caught.value)
    Listening(host="0.0.0.0", may_be_plain=True).check()

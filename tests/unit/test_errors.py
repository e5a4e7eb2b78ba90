"""Errors keep their fields wherever they are carried: across processes, and in the store."""

from __future__ import annotations

import copy
import pickle

import pytest

import bowerbird.cli.checks.services
import bowerbird.crawl.seeding.meaning
import bowerbird.remote.bodies
import bowerbird.web.errors  # noqa: F401  their errors are subclasses
from bowerbird.errors import BowerbirdError, Failure, FlowError, stored_failure


def subclasses(kind: type[BowerbirdError]) -> list[type[BowerbirdError]]:
    return [kind, *(found for each in kind.__subclasses__() for found in subclasses(each))]


@pytest.mark.parametrize("kind", subclasses(BowerbirdError))
def test_error_of_every_class_survives_pickling_and_copying(kind: type[BowerbirdError]) -> None:
    error = kind.__new__(kind)
    BowerbirdError.__init__(error, "a problem", "an advice", code="a_code")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is kind
        assert other.failure == Failure("a_code", "a problem", "an advice")


def test_flow_error_pickled_names_its_line_once() -> None:
    other = pickle.loads(pickle.dumps(FlowError("wrong", file="a.toml", line=7)))
    assert (other.line, str(other)) == (7, "a.toml:7: wrong")


def test_failure_of_a_path_that_is_not_utf8_can_be_stored() -> None:
    stored = Failure("file_not_found", "caf\udce9.db").to_json()
    assert stored_failure(stored) == Failure("file_not_found", "caf?.db")


def test_stored_failure_that_was_cut_is_shown_as_text() -> None:
    failure = stored_failure('{"code":"forbidden","problem":"the server said')
    assert failure is not None
    assert "the server said" in failure.problem

"""The services of a coordinator by name: what each is asked with, what it answers, and what it is for."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bowerbird.model import Due
from bowerbird.remote.wire import Beat, Endings, Enrol, Enrolled, Get, Login, Orders, Put, PutError, Work


class Service(Struct, frozen=True):
    """One service: the kinds of its question and answer, and its purpose in words."""

    asks: Any
    """None: it is asked without a body."""
    answers: Any
    words: str


SERVICES = {
    "enrol": Service(Enrol, Enrolled, "Become a worker of the crawl, under a number; again after being taken for dead."),
    "get": Service(Get, Work, "Get the next calls to make, charged and logged; or when to ask again; or nothing is ready."),
    "put": Service(Put, Endings, "Put the answers of calls, many at once. What is put twice is settled once."),
    "put_error": Service(PutError, Endings, "Put calls that have no answer: given back unasked, or dropped."),
    "login": Service(
        Login, Due, "Ask before a login, or the renewal of a session, which is then counted; or learn when it may be."
    ),
    "heartbeat": Service(Beat, Orders, "Show a sign of life, every two seconds, and learn whether to pause or to stop."),
    "wake": Service(None, Due, "Make ready what has come due, and learn when to look again."),
    "leave": Service(Beat, Orders, "Say that a worker has ended in order."),
}
"""Each is a method of `desk.Desk` of the same name."""

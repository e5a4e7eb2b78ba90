"""How to connect to a stream: a dictionary to fetch first where messages come compressed, then the address with its filters."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence

import msgspec

from bowerbird.model import Answer, Opening, Outcome, Page, Request, Retuned, Subscription
from bowerbird.providers import headers
from bowerbird.providers.bluesky.reading.outcomes import outcome, said
from bowerbird.providers.bluesky.streams import positions
from bowerbird.providers.bluesky.streams.channels import FIREHOSE, JETSTREAM, JETSTREAM_V2
from bowerbird.providers.bluesky.streams.compression import dictionary_id, is_dictionary
from bowerbird.providers.bluesky.streams.subscriptions import chosen, collections, is_compressed

_PATHS = {
    JETSTREAM: "/subscribe",
    JETSTREAM_V2: "/xrpc/network.bsky.jetstream.subscribeEvents",
    FIREHOSE: "/xrpc/com.atproto.sync.subscribeRepos",
}
_DICTIONARY = Request(path="/xrpc/network.bsky.jetstream.getZstdDictionary")
_MOST_DIDS_IN_ADDRESS = 100
"""About 4,000 characters; a longer list goes in a message, because proxies refuse long addresses."""
_NO_SUCH_METHOD = (404, 501)
_FIXED = ("compress", "dictionary")
"""What a connection has from its beginning to its end."""
_NO_DICTIONARY = "the host gives no dictionary away: set compress = false, or give the dictionary itself"
_RETIRED = "UnknownZstdDictionary"

Query = tuple[tuple[str, str], ...]


def opened(wanted: Subscription, cursor: str | None, answers: Sequence[Answer]) -> Request | Opening | Page:
    """The next step towards a connection."""
    if not is_compressed(wanted):
        return _opening(wanted, cursor, b"")
    given = b64decode(chosen(wanted, "dictionary"))
    if given:
        return _opening(wanted, cursor, given)
    if not answers:
        return _DICTIONARY
    page = refused(answers[-1])
    if answers[-1].status in _NO_SUCH_METHOD:
        return msgspec.structs.replace(page, outcome=Outcome.BAD_REQUEST, detail=f"{page.detail}; {_NO_DICTIONARY}")
    if page.outcome is not Outcome.OK:
        return page
    if not is_dictionary(answers[-1].body):
        return Page(outcome=Outcome.UNREADABLE, detail=f"no zstd dictionary in {len(answers[-1].body)} bytes")
    return _opening(wanted, cursor, answers[-1].body)


def retuned(before: Subscription, after: Subscription) -> Retuned | None:
    """The first Jetstream takes filters while it is open, the firehose is filtered here; the second takes no word from us."""
    is_filter_alone = all(before.options.get(name) == after.options.get(name) for name in _FIXED)
    if after.channel == JETSTREAM_V2 or not is_filter_alone:
        return None
    return Retuned(messages=(_hello(after),)) if after.channel == JETSTREAM else Retuned()


def refused(answer: Answer) -> Page:
    """What an HTTP answer instead of a stream means."""
    ended, detail = outcome(answer)
    if _RETIRED in detail:
        # The dictionary was replaced while we fetched it: the next try fetches the new one.
        ended = Outcome.OVERLOADED
    elif ended.is_about_target:
        # There is no account to be missing here: the address itself is not served.
        ended = Outcome.BAD_REQUEST
    return Page(outcome=ended, detail=detail, reading=said(answer), retry_after=headers.retry_after(answer))


def _opening(wanted: Subscription, cursor: str | None, dictionary: bytes) -> Opening:
    if wanted.channel == FIREHOSE:
        return Opening(request=Request(path=_PATHS[FIREHOSE], query=_cursor(wanted, cursor)))
    if wanted.channel == JETSTREAM:
        return _first_opening(wanted, cursor, dictionary)
    query = (
        *(("kinds", kind) for kind in wanted.options.get("kinds", ())),
        *(("collections", each) for each in collections(wanted)),
        *(("dids", did) for did in wanted.options.get("dids", ())),
        *_largest(wanted),
        *((("zstdDictionary", str(dictionary_id(dictionary))),) if dictionary else ()),
        *_cursor(wanted, cursor),
    )
    return Opening(request=Request(path=_PATHS[JETSTREAM_V2], query=query), dictionary=dictionary)


def _first_opening(wanted: Subscription, cursor: str | None, dictionary: bytes) -> Opening:
    dids = wanted.options.get("dids", ())
    compressed: Query = (("compress", "true"),) if dictionary else ()
    if len(dids) > _MOST_DIDS_IN_ADDRESS:
        query: Query = (("requireHello", "true"), *compressed, *_cursor(wanted, cursor))
        return Opening(request=Request(path=_PATHS[JETSTREAM], query=query), greetings=(_hello(wanted),), dictionary=dictionary)
    query = (
        *(("wantedCollections", each) for each in collections(wanted)),
        *(("wantedDids", did) for did in dids),
        *_largest(wanted),
        *compressed,
        *_cursor(wanted, cursor),
    )
    return Opening(request=Request(path=_PATHS[JETSTREAM], query=query), dictionary=dictionary)


def _hello(wanted: Subscription) -> bytes:
    """The filters as the first message, for a server that waits for it before it sends anything."""
    payload = {
        "wantedCollections": collections(wanted),
        "wantedDids": wanted.options.get("dids", ()),
        "maxMessageSizeBytes": int(chosen(wanted, "max_message_size") or 0),
    }
    return msgspec.json.encode({"type": "options_update", "payload": payload})


def _largest(wanted: Subscription) -> Query:
    size = chosen(wanted, "max_message_size")
    return (("maxMessageSizeBytes", size),) if size else ()


def _cursor(wanted: Subscription, cursor: str | None) -> Query:
    asked = positions.asked(wanted, cursor)
    return (("cursor", str(asked)),) if asked is not None else ()

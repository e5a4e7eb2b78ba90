"""The X API's streams: how to connect, and what their lines say. Pure, and never raises."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, Struct
from msgspec.structs import replace

from bowerbird.model import Answer, Ask, Facet, Heard, NoticeKind, Opening, Outcome, Page, Request, Retuned, Subscription
from bowerbird.providers import headers
from bowerbird.providers.items import UNREADABLE, Reader, is_there
from bowerbird.providers.streaming import NO_ANSWER, Batch, MessageReader, no_stream
from bowerbird.providers.text import iso
from bowerbird.providers.x.ids import earlier, taken_in
from bowerbird.providers.x.reading.envelope import Envelope, opened
from bowerbird.providers.x.reading.gather import XGathering
from bowerbird.providers.x.reading.outcomes import Problem, verdict
from bowerbird.providers.x.reading.shapes import tweets
from bowerbird.providers.x.requests import OF_POSTS
from bowerbird.providers.x.streams.channels import LATEST
from bowerbird.providers.x.streams.rules import settle

_PATHS = {
    "filter": "/2/tweets/search/stream",
    "sample": "/2/tweets/sample/stream",
    "sample10": "/2/tweets/sample10/stream",
}
_BY_TYPE = {
    # Another connection of the same application took this one's place: trying at once would throw it out in turn.
    "ForceDisconnect": Outcome.RATE_LIMITED,
    "InvalidRules": Outcome.BAD_REQUEST,
}
_BY_KIND = {
    "streaming-connection": Outcome.RATE_LIMITED,
    "usage-capped": Outcome.QUOTA_EXHAUSTED,
    "credits": Outcome.QUOTA_EXHAUSTED,
}


class _Word(Problem):
    """What the service says about the stream itself."""

    disconnect_type: str = ""
    connection_issue: str = ""


class _Match(Struct, gc=False):
    id: str | int = ""


class _Matched(Struct):
    matching_rules: Raw = Raw(b"")


_words = Reader(_Word)
_matched = Reader(_Matched)
_matches = Reader(list[_Match])


def next_step(wanted: Subscription, answers: Sequence[Answer]) -> Request | Opening | Page:
    """The rules first, where the stream has any; then how to connect."""
    rules = settle(wanted, answers) if wanted.channel == "filter" else ()
    if not isinstance(rules, tuple):
        return rules
    chosen = tuple((name, wanted.options[name][0]) for name in ("backfill_minutes", "partition") if wanted.options.get(name))
    return Opening(request=Request(path=_PATHS[wanted.channel], query=(*chosen, *OF_POSTS)), rules=rules)


def retuned(after: Subscription, answers: Sequence[Answer]) -> Request | Retuned | Page | None:
    """Rules are changed beside the connection, which goes on; the other streams have nothing to change."""
    if after.channel != "filter":
        return None
    rules = settle(after, answers, is_live=True)
    return Retuned(rules=rules) if isinstance(rules, tuple) else rules


def refused(answer: Answer) -> Page:
    """What came instead of a stream."""
    said = headers.reading(answer.headers, "x-rate-limit")
    outcome, detail = verdict(answer, said.remaining if said else None)
    return no_stream(answer, outcome, detail, said)


class XListener(MessageReader[XGathering]):
    """Hears posts with what comes along, one a line; what only the rules of others match is passed over."""

    def __init__(self, facet: Facet, rules: Sequence[str]) -> None:
        super().__init__()
        self._ask, self._facet, self._rules = Ask(facet.name, ()), facet, frozenset(rules)

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        self._rules = frozenset(rules)

    def new_page(self) -> XGathering:
        return XGathering(self._ask, self._facet, NO_ANSWER)

    def hear(self, messages: Sequence[bytes]) -> Heard:
        """The head is what a search must start from to find also posts that had not come yet."""
        heard = super().hear(messages)
        return heard if heard.head is None else replace(heard, head=earlier(heard.head, LATEST))

    def read(self, batch: Batch[XGathering], message: bytes) -> None:
        envelope = opened(message)
        if envelope.is_list:
            raise ValueError("a list instead of a post")
        if envelope.has_data:
            self._tell(batch, envelope, message)
        else:
            _close(batch, envelope, message)

    def _tell(self, batch: Batch[XGathering], envelope: Envelope, message: bytes) -> None:
        rules = _matching(message)
        raw = _with_rules(envelope.data[0], rules)
        tweet = tweets.read(raw)
        if not self._is_ours(rules) or self.recent.is_repeated(tweet.key):
            batch.count()
            return
        batch.begin_post(tweet.key, taken_in(tweet.key) or iso(tweet.created_at))
        batch.page.take(envelope)
        batch.page.tell(tweet, raw)

    def _is_ours(self, rules: bytes) -> bool:
        matched = {str(each.id) for each in _matches.read(rules)} if rules else set()
        return not self._rules or not matched or not matched.isdisjoint(self._rules)


def _matching(message: bytes) -> bytes:
    """The rules a post matched, as they came; nothing where they cannot be read."""
    try:
        rules = _matched.read(message).matching_rules
        return bytes(rules) if is_there(rules) and _matches.read(bytes(rules)) else b""
    except UNREADABLE:
        return b""


def _with_rules(post: bytes, rules: bytes) -> bytes:
    """The post with the rules it matched beside its own fields: they are told nowhere else, and kept with it."""
    body = post.rstrip()
    return body[:-1] + b',"matching_rules":' + rules + b"}" if rules and b":" in body else post


def _close(batch: Batch[XGathering], envelope: Envelope, message: bytes) -> None:
    """A line without a post says why the connection ends; errors about single posts end nothing, and prove nothing of them."""
    words = [_words.read(raw) for raw in envelope.errors or (message,)]
    if all(word.subject is not None for word in words):
        batch.count()
        return
    word = next(word for word in words if word.subject is None)
    if not (word.title or word.words or word.type):
        raise ValueError("neither a post nor an error")
    if word.disconnect_type == "SlowReader":
        batch.note(NoticeKind.SLOW, word.words)
    outcome = _BY_TYPE.get(word.disconnect_type) or _BY_KIND.get(word.kind) or Outcome.OVERLOADED
    batch.close(outcome, f"{word.disconnect_type or word.connection_issue or word.title} {word.words}")

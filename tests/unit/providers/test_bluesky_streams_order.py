"""However few pages a batch of a Bluesky stream makes: whoever saves them ends where the events, one after the other, lead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from bowerbird.model import Gone, Outcome, Page, Post, PostKind, Subject, User
from bowerbird.providers.bluesky.streams.telling import Telling

PEOPLE = ("did:plc:a", "did:plc:b", "did:plc:c")
Event = tuple[str, tuple[Any, ...]]
"""What is told, and of whom or what."""


class Saved:
    """What a store holds after some pages, which it takes in its own order."""

    def __init__(self, pages: Iterable[Page]) -> None:
        self.people: dict[str, tuple[str | None, Outcome | None]] = {}
        self.posts: dict[str, bytes | None] = {}
        self.follows: dict[tuple[str, str], str | None] = {}
        for page in pages:
            self._take(page)

    def _take(self, page: Page) -> None:
        named = {(each.source, each.record) for each in page.relations}
        for user in page.users:
            self.people[user.key] = user.handle or self.people.get(user.key, (None, None))[0], None
        self.posts |= {post.key: post.raw for post in page.posts}
        for own in (False, True):
            ended = {(each.source, each.record) for each in page.ended if ((each.source, each.record) in named) is own}
            self.follows = {pair: record for pair, record in self.follows.items() if (pair[0], record) not in ended}
            if not own:
                self.follows |= {(each.source, each.target): each.record for each in page.relations}
        for gone in page.gone:
            self._lose(gone)

    def _lose(self, gone: Gone) -> None:
        if gone.subject is Subject.POST:
            self.posts[gone.key] = None
            return
        self.people[gone.key] = self.people.get(gone.key, (None, None))[0], gone.reason
        self.posts = {key: None if f"//{gone.key}/" in key else raw for key, raw in self.posts.items()}
        self.follows = {pair: record for pair, record in self.follows.items() if gone.key not in pair}


def events(random: Random) -> Iterator[Event]:
    """A few, of so few people and posts that most are about the same ones. Each writes something else than those before."""
    follows: list[tuple[str, str]] = []
    for number in range(random.randint(2, 10)):
        one, other = random.sample(PEOPLE, 2)
        key, record, handle = f"at://{one}/post/{random.randrange(2)}", f"r{number}", random.choice(("here", "there"))
        reason = random.choice((Outcome.SUSPENDED, Outcome.DEACTIVATED))
        post = Post(id=key, key=key, author=one, kind=PostKind.POST, raw=record.encode())
        ended = random.choice(follows) if follows else (one, record)
        told: list[Event] = [
            ("post", (post,)),
            ("post_gone", (key,)),
            ("follow", (one, other, record)),
            ("unfollow", ended),
            ("user", (User(id=one, key=one, is_there=True),)),
            ("user", (User(id=one, key=one, handle=handle),)),
            ("user_gone", (one, reason)),
        ]
        event = random.choice(told)
        if event[0] == "follow":
            follows.append((one, record))
        yield event


def pages(several: Iterable[Event]) -> tuple[Page, ...]:
    told = Telling()
    for name, values in several:
        getattr(told, name)(*values)
    return told.heard(None, None).pages


def test_pages_of_a_batch_lead_where_its_events_lead_one_by_one() -> None:
    fewer = 0
    for seed in range(3_000):
        batch = list(events(Random(seed)))
        together, apart = pages(batch), [page for event in batch for page in pages([event])]
        assert vars(Saved(together)) == vars(Saved(apart)), f"seed {seed}"
        fewer += len(together) < len(apart)
    assert fewer > 2_000

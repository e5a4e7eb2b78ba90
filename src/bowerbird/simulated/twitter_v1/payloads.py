"""Users and Tweets as v1.1 wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from bowerbird.simulated.twitter_v1.call import user_key
from bowerbird.simulated.wire import encode
from bowerbird.simulated.world import Availability, World
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.people.vocabulary import SOURCES
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.reactions import Counters, Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.settings import from_ms

_KEPT = 50_000
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def stamp(ms: int) -> str:
    """`Thu Nov 08 02:31:41 +0000 2012`, whatever the locale."""
    at = from_ms(ms // 1000 * 1000)
    return f"{_DAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at.day:02d} {at.time()} +0000 {at.year}"


class User(Struct):
    id: int
    id_str: str
    name: str
    screen_name: str
    location: str
    description: str
    url: str | None
    protected: bool
    followers_count: int
    friends_count: int
    listed_count: int
    created_at: str
    favourites_count: int
    geo_enabled: bool
    verified: bool
    statuses_count: int
    profile_image_url_https: str
    utc_offset: int | None = None
    time_zone: str | None = None
    lang: str | None = None
    contributors_enabled: bool = False
    is_translator: bool = False
    default_profile: bool = True


class TweetBody(Struct):
    """The part of a Tweet that never changes."""

    created_at: str
    id: int
    id_str: str
    source: str
    in_reply_to_status_id: int | None
    in_reply_to_status_id_str: str | None
    in_reply_to_user_id: int | None
    in_reply_to_user_id_str: str | None
    in_reply_to_screen_name: str | None
    entities: dict[str, Any]
    extended_entities: dict[str, Any] | None
    geo: dict[str, Any] | None
    coordinates: dict[str, Any] | None
    place: dict[str, Any] | None
    possibly_sensitive: bool
    lang: str
    is_quote_status: bool
    truncated: bool = False
    contributors: None = None
    favorited: bool = False
    retweeted: bool = False


class Payloads:
    """Writes users and Tweets as of a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.reactions = Reactions(world)
        self._bodies: dict[int, tuple[bytes, str]] = {}
        self._users: dict[tuple[int, bool], tuple[int, int, bytes]] = {}
        """Users as written at a time, and until when they would be written the same."""

    def user(self, account: int, now: int, *, with_status: bool = False) -> bytes:
        """The user's JSON, with the newest Tweet inside where asked for and allowed."""
        since, until, body = self._users.get((account, with_status), (0, 0, b""))
        if since <= now < until:
            return body
        if len(self._users) >= _KEPT:
            self._users.clear()
        body, until = self._fresh_user(account, now, with_status)
        self._users[account, with_status] = (now, until, body)
        return body

    def _fresh_user(self, account: int, now: int, with_status: bool) -> tuple[bytes, int]:
        """The user's JSON and when it changes, at the earliest."""
        body, until = encode(self._user(account, now)), self.world.changes.next_after(account, now)
        newest = self.world.newest(account, now) if with_status and self.world.is_open(account, now) else None
        if newest is None:
            return body, until
        if newest.kind in (REPOST, QUOTE):
            until = min(until, self.world.changes.next_after(author_of(newest.target), now))
        tweet = self.tweets([newest], now, is_extended=False, with_user=False)[0]
        return body[:-1] + b',"status":' + tweet + b"}", until

    def tweets(self, rows: Sequence[Row], now: int, *, is_extended: bool, with_user: bool = True) -> list[bytes]:
        """The Tweets' JSON in the order given; what a Tweet passes on or quotes is inside it."""
        inner = [row for row in (self._inner(row, now) for row in rows) if row is not None]
        counters = self.reactions.counters([row.number for row in (*rows, *inner)], now)
        by_number = {row.number: count for row, count in zip((*rows, *inner), counters, strict=True)}
        users: dict[int, bytes] = {}
        page = _Page(now, is_extended, by_number, users, with_user)
        embedded = {row.number: self._tweet(row, page, None, with_user=True) for row in inner}
        # A reply names what it answers and shows nothing of it, also where the same page shows that inside another.
        shown = [embedded.get(row.target) if row.kind in (REPOST, QUOTE) else None for row in rows]
        return [self._tweet(row, page, each, with_user=with_user) for row, each in zip(rows, shown, strict=True)]

    def is_readable(self, row: Row, now: int) -> bool:
        """Retweets vanish with the one they pass on."""
        return row.kind != REPOST or self.world.is_open(author_of(row.target), now)

    def _inner(self, row: Row, now: int) -> Row | None:
        if row.kind not in (REPOST, QUOTE):
            return None
        target = self.world.post(row.target, now)
        return target if target is not None and self.world.is_open(target.author, now) else None

    def _tweet(self, row: Row, page: _Page, embedded: bytes | None, *, with_user: bool) -> bytes:
        body, text = self._body(row)
        counters = page.counters[row.number]
        user = self._embedded_user(row.author, page) if with_user else b'{"id":%d,"id_str":"%d"}' % ((user_key(row.author),) * 2)
        name = b"full_text" if page.is_extended else b"text"
        parts = [
            b'{"%b":%b,"retweet_count":%d,"favorite_count":%d,"user":%b,'
            % (name, encode(text), counters.reposts + counters.quotes, counters.likes, user)
        ]
        if page.is_extended:
            parts.append(b'"display_text_range":[0,%d],' % len(text))
        if embedded is not None:
            parts.append((b'"retweeted_status":' if row.kind == REPOST else b'"quoted_status":') + embedded + b",")
        if row.kind == QUOTE:
            parts.append(b'"quoted_status_id":%d,"quoted_status_id_str":"%d",' % (row.target, row.target))
        return b"".join((*parts, body[1:]))

    def _embedded_user(self, account: int, page: _Page) -> bytes:
        user = page.users.get(account)
        if user is None:
            user = page.users[account] = self.user(account, page.now)
        return user

    def _user(self, account: int, now: int) -> User:
        people, profile = self.world.people, self.world.profiles.at(account, now)
        followers, friends = self.world.graph.counts(account, now)
        key = user_key(account)
        return User(
            id=key,
            id_str=str(key),
            name=profile.name,
            screen_name=profile.handle,
            location=profile.location,
            description=profile.bio,
            url=profile.link or None,
            protected=self.world.availability(account, now) is Availability.PROTECTED,
            followers_count=followers,
            friends_count=friends,
            listed_count=followers // 50,
            created_at=stamp(int(people.created[account])),
            favourites_count=mix(account, 51) % 3000,
            geo_enabled=mix(account, 52) % 3 == 0,
            verified=bool(people.is_verified[account]),
            statuses_count=self.world.post_count(account, now),
            profile_image_url_https=f"https://pbs.simulated.example/profile_images/{account}/{profile.picture}_normal.png",
            # Left empty since 2018; a world whose people have nationalities is of the years before.
            utc_offset=profile.utc_hours * 3600 if profile.time_zone else None,
            time_zone=profile.time_zone or None,
            lang=profile.language if self.world.settings.mixed else None,
        )

    def _body(self, row: Row) -> tuple[bytes, str]:
        kept = self._bodies.get(row.number)
        if kept is None:
            if len(self._bodies) >= _KEPT:
                self._bodies.clear()
            kept = self._bodies[row.number] = self._write(row)
        return kept

    def _write(self, row: Row) -> tuple[bytes, str]:
        content = self.world.contents.of(row)
        original = self._original(row)
        text, entities = self._text(row, content) if original is None else self._retweet_text(row, original)
        media = [_picture(row, nth) for nth in range(content.pictures)]
        is_reply = row.kind == REPLY
        whom = user_key(author_of(row.target)) if is_reply else None
        point = content.place if row.kind != REPOST else None
        body = TweetBody(
            created_at=stamp(row.ms),
            id=row.number,
            id_str=str(row.number),
            source=f'<a href="http://twitter.com" rel="nofollow">{SOURCES[content.source % len(SOURCES)]}</a>',
            in_reply_to_status_id=row.target if is_reply else None,
            in_reply_to_status_id_str=str(row.target) if is_reply else None,
            in_reply_to_user_id=whom,
            in_reply_to_user_id_str=str(whom) if is_reply else None,
            in_reply_to_screen_name=self._name(author_of(row.target), row.ms) if is_reply else None,
            entities={**entities, "media": media} if media else entities,
            extended_entities={"media": media} if media else None,
            geo={"type": "Point", "coordinates": [point[1], point[0]]} if point else None,
            coordinates={"type": "Point", "coordinates": list(point)} if point else None,
            place=self._place(row) if point else None,
            possibly_sensitive=content.is_sensitive,
            lang=content.language or "und",
            is_quote_status=row.kind == QUOTE,
        )
        return encode(body), text

    def _original(self, row: Row) -> Row | None:
        return self.world.row(row.target, row.ms) if row.kind == REPOST else None

    def _text(self, row: Row, content: Content) -> tuple[str, dict[str, Any]]:
        """Text and entities, with each entity's place in the text."""
        text = ""
        mentions, tags, urls = [], [], []
        for account in content.mentions:
            name = self._name(account, row.ms)
            mentions.append(
                _mention(account, name, self.world.profiles.at(account, row.ms).name, [len(text), len(text) + len(name) + 1])
            )
            text += f"@{name} "
        text += content.words
        for tag in content.tags:
            tags.append({"text": tag, "indices": [len(text) + 1, len(text) + len(tag) + 2]})
            text += f" #{tag}"
        if content.link:
            short = f"https://t.co/{row.number % 10**10:010d}"
            urls.append(
                {
                    "url": short,
                    "expanded_url": content.link,
                    "display_url": content.link[8:],
                    "indices": [len(text) + 1, len(text) + 1 + len(short)],
                }
            )
            text += f" {short}"
        return text, {"hashtags": tags, "symbols": [], "user_mentions": mentions, "urls": urls}

    def _retweet_text(self, row: Row, original: Row) -> tuple[str, dict[str, Any]]:
        name = self._name(original.author, row.ms)
        text = f"RT @{name}: {self._text(original, self.world.contents.of(original))[0]}"
        mention = _mention(original.author, name, self.world.profiles.at(original.author, row.ms).name, [3, 4 + len(name)])
        return text, {"hashtags": [], "symbols": [], "user_mentions": [mention], "urls": []}

    def _name(self, account: int, at: int) -> str:
        return self.world.profiles.at(account, at).handle

    def _place(self, row: Row) -> dict[str, Any]:
        town = self.world.contents.town(row.author)
        west, east, south, north = town.longitude - 0.2, town.longitude + 0.2, town.latitude - 0.2, town.latitude + 0.2
        box = [[[west, south], [east, south], [east, north], [west, north]]]
        return {
            "id": f"{town.woeid:016x}", "place_type": "city", "name": town.name, "full_name": f"{town.name}, {town.country}",
            "country_code": town.code, "country": town.country, "bounding_box": {"type": "Polygon", "coordinates": box},
        }  # fmt: skip


class _Page(Struct):
    """What the Tweets of one answer share."""

    now: int
    is_extended: bool
    counters: dict[int, Counters]
    users: dict[int, bytes]
    with_user: bool


def _mention(account: int, handle: str, name: str, indices: list[int]) -> dict[str, Any]:
    key = user_key(account)
    return {"screen_name": handle, "name": name, "id": key, "id_str": str(key), "indices": indices}


def _picture(row: Row, nth: int) -> dict[str, Any]:
    key = row.number * 4 + nth & ((1 << 62) - 1)
    url = f"https://pbs.simulated.example/media/{key}.jpg"
    return {
        "id": key, "id_str": str(key), "type": "photo", "media_url_https": url, "media_url": url, "indices": [0, 0],
        "url": f"https://t.co/p{nth}", "display_url": "pic.twitter.com/x", "expanded_url": url,
    }  # fmt: skip

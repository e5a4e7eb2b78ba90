"""Users and posts with all their fields; what a request did not ask for is taken off later."""

from __future__ import annotations

from typing import Any

from bowerbird.simulated.polls import ballot
from bowerbird.simulated.twitter_v1.call import user_key
from bowerbird.simulated.world import Availability, World
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.people.portraits import Portraits
from bowerbird.simulated.world.people.vocabulary import Town
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.reactions import Counters, Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.settings import from_ms
from bowerbird.simulated.x_v2.conversations import Conversations

_KEPT = 50_000
_REFERENCES = {REPLY: "replied_to", REPOST: "retweeted", QUOTE: "quoted"}
_MINUTE = 60_000 << 22
"""One minute in post numbers."""

Item = dict[str, Any]


def stamp(ms: int) -> str:
    """`2019-12-31T19:26:16.000Z`: whole seconds, written with three decimals."""
    return f"{from_ms(ms):%Y-%m-%dT%H:%M:%S}.000Z"


def media_key(row: Row, nth: int) -> str:
    """The classic API's media id with a number for its type before it."""
    return f"3_{row.number * 4 + nth & ((1 << 62) - 1)}"


class Payloads:
    """Writes users and posts as of a time."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.reactions = Reactions(world)
        self.conversations = Conversations(world)
        self._bodies: dict[int, Item] = {}
        self._users: Portraits[Item] = Portraits(world.changes)

    def user(self, account: int, now: int, fields: frozenset[str]) -> Item:
        return self._users.of(account, fields, now, lambda whom, at: self._user(whom, at, fields))

    def _user(self, account: int, now: int, fields: frozenset[str]) -> Item:
        people, profile = self.world.people, self.world.profiles.at(account, now)
        is_verified = bool(people.is_verified[account])
        user: Item = {
            "id": str(user_key(account)),
            "name": profile.name,
            "username": profile.handle,
            "created_at": stamp(int(people.created[account])),
            "description": profile.bio,
            "location": profile.location or None,
            "url": profile.link and f"https://t.co/u{account}",
            "protected": self.world.availability(account, now) is Availability.PROTECTED,
            "verified": is_verified,
            "verified_type": "blue" if is_verified else "none",
            "profile_image_url": f"https://pbs.simulated.example/profile_images/{account}/{profile.picture}_normal.png",
        }
        if profile.link:
            url = {"start": 0, "end": 23, "url": user["url"], "expanded_url": profile.link, "display_url": profile.link[8:]}
            user["entities"] = {"url": {"urls": [url]}}
        if "public_metrics" in fields:
            user["public_metrics"] = self._user_metrics(account, now)
        if "most_recent_tweet_id" in fields and self.world.is_open(account, now):
            newest = self.world.newest(account, now)
            user["most_recent_tweet_id"] = str(newest.number) if newest else None
        return user

    def _user_metrics(self, account: int, now: int) -> Item:
        followers, following = self.world.graph.counts(account, now)
        return {
            "followers_count": followers,
            "following_count": following,
            "tweet_count": self.world.post_count(account, now),
            "listed_count": followers // 50,
            "like_count": mix(account, 51) % 3000,
        }

    def post(self, row: Row, counters: Counters) -> Item:
        metrics = {
            "retweet_count": counters.reposts,
            "reply_count": counters.replies,
            "like_count": counters.likes,
            "quote_count": counters.quotes,
            "bookmark_count": counters.likes // 9,
            "impression_count": counters.likes * 40,
        }
        return {**self._body(row), "public_metrics": metrics}

    def is_readable(self, row: Row, now: int) -> bool:
        """Reposts vanish with the one they pass on."""
        return row.kind != REPOST or self.world.is_open(author_of(row.target), now)

    def _body(self, row: Row) -> Item:
        kept = self._bodies.get(row.number)
        if kept is None:
            if len(self._bodies) >= _KEPT:
                self._bodies.clear()
            kept = self._bodies[row.number] = self._write(row)
        return kept

    def _write(self, row: Row) -> Item:
        content = self.world.contents.of(row)
        original = self.world.row(row.target, row.ms) if row.kind == REPOST else None
        text, entities = self._text(row, content) if original is None else self._repost_text(row, original)
        history = [row.number - _MINUTE, row.number] if content.edited_ms else [row.number]
        keys = [media_key(row, nth) for nth in range(content.pictures)]
        town = self.world.contents.town(row.author)
        point = content.place if row.kind != REPOST else None
        return {
            "id": str(row.number),
            "text": text,
            "edit_history_tweet_ids": [str(number) for number in history],
            "author_id": str(user_key(row.author)),
            "created_at": stamp(row.ms),
            "lang": content.language or "und",
            "conversation_id": str(self.conversations.root(row)),
            "in_reply_to_user_id": str(user_key(author_of(row.target))) if row.kind == REPLY else None,
            "referenced_tweets": [{"type": _REFERENCES[row.kind], "id": str(row.target)}] if row.kind in _REFERENCES else None,
            "entities": entities or None,
            "attachments": _attachments(row, keys),
            "geo": _geo(town, point) if point else None,
            "possibly_sensitive": content.is_sensitive,
            "reply_settings": "everyone",
            "edit_controls": _edit_controls(row, len(history)),
        }

    def _text(self, row: Row, content: Content) -> tuple[str, Item]:
        """Text and entities, with each entity's place in the text."""
        text = ""
        mentions, tags, urls = [], [], []
        for account in content.mentions:
            name = self._name(account, row.ms)
            mentions.append(_mention(account, name, len(text)))
            text += f"@{name} "
        text += content.words
        for tag in content.tags:
            tags.append({"start": len(text) + 1, "end": len(text) + len(tag) + 2, "tag": tag})
            text += f" #{tag}"
        if content.link:
            short = f"https://t.co/{row.number % 10**10:010d}"
            place = {"start": len(text) + 1, "end": len(text) + 1 + len(short)}
            urls.append({**place, "url": short, "expanded_url": content.link, "display_url": content.link[8:]})
            text += f" {short}"
        named = {"mentions": mentions, "hashtags": tags, "urls": urls}
        return text, {name: each for name, each in named.items() if each}

    def _repost_text(self, row: Row, original: Row) -> tuple[str, Item]:
        """`RT @name: …`, cut: the whole text is only in the original."""
        name = self._name(original.author, row.ms)
        whole = f"RT @{name}: {self._text(original, self.world.contents.of(original))[0]}"
        return whole if len(whole) <= 140 else whole[:139] + "…", {"mentions": [_mention(original.author, name, 3)]}

    def _name(self, account: int, at: int) -> str:
        return self.world.profiles.at(account, at).handle


def picture(row: Row, nth: int) -> Item:
    key = media_key(row, nth)
    return {
        "media_key": key,
        "type": "photo",
        "url": f"https://pbs.simulated.example/media/{key[2:]}.jpg",
        "width": 1200,
        "height": 800,
        "alt_text": "A picture of the day" if nth else None,
    }


def poll(row: Row, now: int) -> Item | None:
    """The poll of a post as of a time."""
    asked = ballot(row, now)
    if asked is None:
        return None
    options = [{"position": nth, "label": title, "votes": votes} for nth, (title, votes) in enumerate(asked.options, 1)]
    minutes = (asked.ends_ms - row.ms) // 60_000
    status = "closed" if asked.is_closed else "open"
    named = {"id": asked.key, "options": options, "duration_minutes": minutes}
    return {**named, "end_datetime": stamp(asked.ends_ms), "voting_status": status}


def _attachments(row: Row, keys: list[str]) -> Item | None:
    asked = ballot(row, row.ms)
    found: Item = {"media_keys": keys} if keys else {}
    return found | ({"poll_ids": [asked.key]} if asked else {}) or None


def place(town: Town) -> Item:
    west, east, south, north = town.longitude - 0.2, town.longitude + 0.2, town.latitude - 0.2, town.latitude + 0.2
    return {
        "id": f"{town.woeid:016x}",
        "full_name": f"{town.name}, {town.country}",
        "name": town.name,
        "place_type": "city",
        "country": town.country,
        "country_code": town.code,
        "geo": {"type": "Feature", "bbox": [west, south, east, north], "properties": {}},
    }


def _geo(town: Town, point: tuple[float, float]) -> Item:
    return {"place_id": f"{town.woeid:016x}", "coordinates": {"type": "Point", "coordinates": list(point)}}


def _mention(account: int, name: str, start: int) -> Item:
    return {"start": start, "end": start + len(name) + 1, "username": name, "id": str(user_key(account))}


def _edit_controls(row: Row, versions: int) -> Item:
    first = row.ms - 60_000 * (versions - 1)
    return {"is_edit_eligible": row.kind != REPOST, "editable_until": stamp(first + 3_600_000), "edits_remaining": 6 - versions}

"""Shapes as users and posts. Pure."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

from msgspec import Struct, field

from bowerbird.model import Media, Place, Poll, PollOption, Post, PostKind, User, tags_once
from bowerbird.providers.items import count
from bowerbird.providers.text import iso
from bowerbird.providers.x.ids import PREFIX, global_id, is_doubtful, is_key, taken_in
from bowerbird.providers.x.reading.shapes import Account, Attachment, Ballot, Entities, Location, Tweet, Url, Withheld


class Joined(Struct, frozen=True):
    """What came along with the posts and is named by them."""

    media: Mapping[str, Attachment] = field(default_factory=dict)
    places: Mapping[str, Location] = field(default_factory=dict)
    polls: Mapping[str, Ballot] = field(default_factory=dict)


def user_of(account: Account, raw: bytes) -> User:
    metrics = account.public_metrics
    links = account.entities.url.urls if account.entities and account.entities.url else None
    newest = account.most_recent_tweet_id or account.most_recent_post_id
    return User(
        id=PREFIX + account.key,
        key=account.key,
        handle=account.username,
        name=account.name,
        description=html.unescape(account.description) if account.description else account.description,
        location=account.location,
        url=(links[0].expanded_url if links else None) or account.url or None,
        avatar=account.profile_image_url,
        created_at=iso(account.created_at),
        followers=count(metrics.followers_count) if metrics else None,
        following=count(metrics.following_count) if metrics else None,
        posts=count(_either(metrics.tweet_count, metrics.post_count)) if metrics else None,
        newest_post_at=taken_in(str(newest)) if newest else None,
        is_protected=account.protected,
        is_verified=account.verified,
        labels=_withheld(account.withheld),
        raw=raw,
    )


def repost_of(tweet: Tweet, author: str, raw: bytes, original: str) -> Post:
    """A repost is only that: words, media and counters belong to the original."""
    created_at, listed_at = iso(tweet.created_at), taken_in(tweet.key)
    return Post(
        id=PREFIX + tweet.key,
        key=tweet.key,
        author=author,
        kind=PostKind.REPOST,
        created_at=created_at,
        listed_at=listed_at,
        is_time_doubtful=is_doubtful(created_at, listed_at),
        repost_of=original,
        source=tweet.source,
        raw=raw,
    )


def post_of(tweet: Tweet, author: str, raw: bytes, joined: Joined) -> Post:
    """The post with what it names joined to it."""
    original = global_id(tweet.refers("retweeted", "reposted"))
    if original is not None:
        return repost_of(tweet, author, raw, original)
    created_at, listed_at = iso(tweet.created_at), taken_in(tweet.key)
    reply_to, quote_of = global_id(tweet.refers("replied_to")), global_id(tweet.refers("quoted"))
    entities = tweet.note.entities or tweet.entities or Entities()
    metrics = tweet.public_metrics
    return Post(
        id=PREFIX + tweet.key,
        key=tweet.key,
        author=author,
        kind=PostKind.REPLY if reply_to else PostKind.QUOTE if quote_of else PostKind.POST,
        created_at=created_at,
        listed_at=listed_at,
        is_time_doubtful=is_doubtful(created_at, listed_at),
        text=_text(tweet),
        language=tweet.lang,
        reply_to=reply_to,
        quote_of=quote_of,
        root=_root(tweet),
        replies=count(metrics.reply_count) if metrics else None,
        reposts=count(_either(metrics.retweet_count, metrics.repost_count)) if metrics else None,
        likes=count(metrics.like_count) if metrics else None,
        quotes=count(metrics.quote_count) if metrics else None,
        poll=_poll(tweet, joined),
        # Every edit is a post of its own: all but the first of a history were written by editing.
        edited_at=listed_at if tweet.history and str(tweet.history[0]) != tweet.key else None,
        edit_of=_version_before(tweet),
        source=tweet.source,
        is_sensitive=tweet.possibly_sensitive,
        labels=_withheld(tweet.withheld),
        tags=tags_once([each.tag for each in entities.hashtags if each.tag]) if entities.hashtags else (),
        cashtags=tuple(dict.fromkeys(each.tag for each in entities.cashtags if each.tag)) if entities.cashtags else (),
        mentions=tuple(dict.fromkeys(str(each.id) for each in entities.mentions or () if is_key(str(each.id)))),
        links=tuple(dict.fromkeys(each.unwound_url or each.expanded_url or each.url or "" for each in _links(entities))),
        media=_media(tweet, joined),
        place=_place(tweet, joined),
        raw=raw,
    )


def _either(old: int | None, new: int | None) -> int | None:
    return new if old is None else old


def _text(tweet: Tweet) -> str | None:
    text = tweet.note.text or tweet.text
    return html.unescape(text) if text else text


def _root(tweet: Tweet) -> str | None:
    return global_id(tweet.conversation_id) if str(tweet.conversation_id) != tweet.key else None


def _version_before(tweet: Tweet) -> str | None:
    """The post that this one replaces, by the history that each version carries."""
    if len(tweet.history) < 2:
        return None
    keys = [str(each) for each in tweet.history]
    place = keys.index(tweet.key) if tweet.key in keys else 0
    return global_id(keys[place - 1]) if place else None


def _poll(tweet: Tweet, joined: Joined) -> Poll | None:
    if tweet.attachments is None or not tweet.attachments.poll_ids:
        return None
    ballot = next((joined.polls[each] for each in tweet.attachments.poll_ids if each in joined.polls), None)
    if ballot is None:
        return None
    options = tuple(PollOption(each.label, count(each.votes)) for each in sorted(ballot.options, key=lambda each: each.position))
    told = [each.votes for each in options if each.votes is not None]
    # A vote is for one option: as many have voted as there are votes.
    return Poll(
        options=options,
        votes=sum(told) if told else None,
        voters=sum(told) if told else None,
        is_multiple=False,
        is_closed=None if ballot.voting_status is None else ballot.voting_status == "closed",
        ends_at=iso(ballot.end_datetime),
    )


def _withheld(withheld: Withheld | None) -> tuple[str, ...]:
    return tuple(f"withheld:{code}" for code in withheld.country_codes or ()) if withheld else ()


def _links(entities: Entities) -> list[Url]:
    return [each for each in entities.urls or () if each.unwound_url or each.expanded_url or each.url]


def _media(tweet: Tweet, joined: Joined) -> tuple[Media, ...]:
    keys = (tweet.attachments.media_keys if tweet.attachments else None) or ()
    found = (joined.media.get(each) for each in dict.fromkeys(keys))
    return tuple(
        Media(id=_media_id(each.media_key), kind=each.type or "unknown", url=each.address, description=each.alt_text)
        for each in found
        if each is not None and each.address
    )


def _media_id(media_key: str) -> str:
    """The classic API's id of the same thing: a media key is that with a number for its type before it."""
    number = media_key.partition("_")[2]
    return PREFIX + (number if is_key(number) else media_key)


def _place(tweet: Tweet, joined: Joined) -> Place | None:
    if tweet.geo is None:
        return None
    point = tweet.geo.coordinates.coordinates if tweet.geo.coordinates else None
    named = joined.places.get(tweet.geo.place_id or "")
    longitude, latitude = _on_earth(point)
    if named is None and longitude is None:
        return None
    name = (named.full_name or named.name) if named else None
    country = (named.country_code or named.country) if named else None
    return Place(name=name, country=country, longitude=longitude, latitude=latitude)


def _on_earth(point: list[float] | None) -> tuple[float, float] | tuple[None, None]:
    """Longitude and latitude, or nothing where there can be no such point."""
    pair = (point or [])[:2]
    if len(pair) != 2 or not all(math.isfinite(each) for each in pair) or abs(pair[0]) > 180 or abs(pair[1]) > 90:
        return None, None
    return pair[0], pair[1]

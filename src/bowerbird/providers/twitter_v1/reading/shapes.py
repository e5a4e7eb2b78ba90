"""Users and posts as the classic API sends them, only the fields we map, and the mapping itself (pure)."""

from __future__ import annotations

import html
import math

from msgspec import Raw, Struct

from bowerbird.model import Media, Place, Post, PostKind, User, tags_once
from bowerbird.providers.items import Reader, count
from bowerbird.providers.text import classic, source_of

NETWORK_PREFIX = "x:"
_FARTHEST = 14 * 3600
"""Seconds that a clock on Earth is from UTC at most."""


class _Url(Struct, gc=False):
    url: str | None = None
    expanded_url: str | None = None


class _Urls(Struct):
    urls: list[_Url] | None = None


class _UserEntities(Struct):
    url: _Urls | None = None


class Account(Struct):
    id: int | None = None
    id_str: str | None = None
    screen_name: str | None = None
    name: str | None = None
    description: str | None = None
    location: str | None = None
    url: str | None = None
    lang: str | None = None
    time_zone: str | None = None
    utc_offset: int | None = None
    profile_image_url_https: str | None = None
    created_at: str | None = None
    followers_count: int | None = None
    friends_count: int | None = None
    statuses_count: int | None = None
    protected: bool | None = None
    verified: bool | None = None
    entities: _UserEntities | None = None
    withheld_in_countries: list[str] | None = None
    status: Raw = Raw(b"")

    @property
    def key(self) -> str:
        return key_of(self.id_str, self.id)


class _Hashtag(Struct, gc=False):
    text: str | None = None


class _Mention(Struct, gc=False):
    id: int | None = None
    id_str: str | None = None


class _Variant(Struct, gc=False):
    url: str | None = None
    bitrate: int | None = None


class _Video(Struct):
    variants: list[_Variant] | None = None


class _Attachment(Struct):
    id: int | None = None
    id_str: str | None = None
    type: str | None = None
    media_url_https: str | None = None
    ext_alt_text: str | None = None
    video_info: _Video | None = None


class _Entities(Struct):
    hashtags: list[_Hashtag] | None = None
    symbols: list[_Hashtag] | None = None
    user_mentions: list[_Mention] | None = None
    urls: list[_Url] | None = None
    media: list[_Attachment] | None = None


class _Point(Struct):
    coordinates: list[float] | None = None


class _Place(Struct):
    full_name: str | None = None
    country_code: str | None = None
    country: str | None = None


class _Extended(Struct):
    full_text: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None


class Tweet(Struct):
    id: int | None = None
    id_str: str | None = None
    user: Raw = Raw(b"")
    created_at: str | None = None
    text: str | None = None
    full_text: str | None = None
    lang: str | None = None
    source: str | None = None
    in_reply_to_status_id: int | None = None
    in_reply_to_status_id_str: str | None = None
    quoted_status_id: int | None = None
    quoted_status_id_str: str | None = None
    retweeted_status: Raw = Raw(b"")
    quoted_status: Raw = Raw(b"")
    reply_count: int | None = None
    retweet_count: int | None = None
    favorite_count: int | None = None
    quote_count: int | None = None
    withheld_in_countries: list[str] | None = None
    possibly_sensitive: bool | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None
    extended_tweet: _Extended | None = None
    coordinates: _Point | None = None
    geo: _Point | None = None
    place: _Place | None = None

    @property
    def key(self) -> str:
        return key_of(self.id_str, self.id)


accounts = Reader(Account, "withheld_in_countries")
tweets = Reader(Tweet, "entities", "extended_entities", "extended_tweet", "coordinates", "geo", "place", "withheld_in_countries")


def key_of(text: str | None, number: int | None) -> str:
    """The id as text: the number alone may have lost digits on its way through other software."""
    key = text or (str(number) if number is not None else "")
    if not (key.isascii() and key.isdigit() and len(key) <= 20):
        raise ValueError(f"an id is {key[:40]!r}, not a number")
    return key


def _optional_id(text: str | None, number: int | None) -> str | None:
    return NETWORK_PREFIX + key_of(text, number) if text or number is not None else None


def user_of(account: Account, raw: bytes) -> User:
    links = account.entities.url.urls if account.entities and account.entities.url else None
    expanded = links[0].expanded_url if links else None
    return User(
        id=NETWORK_PREFIX + account.key,
        key=account.key,
        handle=account.screen_name,
        name=account.name,
        description=html.unescape(account.description) if account.description else account.description,
        location=account.location,
        url=expanded or account.url,
        language=account.lang,
        avatar=account.profile_image_url_https,
        time_zone=_time_zone(account),
        created_at=classic(account.created_at),
        followers=count(account.followers_count),
        following=count(account.friends_count),
        posts=count(account.statuses_count),
        is_protected=account.protected,
        is_verified=account.verified,
        labels=_withheld(account.withheld_in_countries),
        raw=raw,
    )


def _time_zone(account: Account) -> str | None:
    """The name that the account chose from the network's list, or else how far its clock is from UTC."""
    if account.time_zone or account.utc_offset is None or abs(account.utc_offset) > _FARTHEST:
        return account.time_zone
    hours, minutes = divmod(abs(account.utc_offset) // 60, 60)
    return f"UTC{'-' if account.utc_offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def repost_of(tweet: Tweet, author: str, original: str, raw: bytes) -> Post:
    """A retweet: words, media and counters belong to the original."""
    return Post(
        id=NETWORK_PREFIX + tweet.key,
        key=tweet.key,
        author=author,
        kind=PostKind.REPOST,
        created_at=classic(tweet.created_at),
        repost_of=original,
        source=source_of(tweet.source),
        raw=raw,
    )


def post_of(tweet: Tweet, author: str, raw: bytes) -> Post:
    entities, attachments = _entities(tweet)
    reply_to = _optional_id(tweet.in_reply_to_status_id_str, tweet.in_reply_to_status_id)
    quote_of = _optional_id(tweet.quoted_status_id_str, tweet.quoted_status_id)
    return Post(
        id=NETWORK_PREFIX + tweet.key,
        key=tweet.key,
        author=author,
        kind=PostKind.REPLY if reply_to else PostKind.QUOTE if quote_of else PostKind.POST,
        created_at=classic(tweet.created_at),
        text=_text(tweet),
        language=tweet.lang,
        reply_to=reply_to,
        quote_of=quote_of,
        replies=count(tweet.reply_count),
        reposts=count(tweet.retweet_count),
        likes=count(tweet.favorite_count),
        quotes=count(tweet.quote_count),
        source=source_of(tweet.source),
        is_sensitive=tweet.possibly_sensitive,
        labels=_withheld(tweet.withheld_in_countries),
        tags=tags_once([tag.text for tag in entities.hashtags if tag.text]) if entities.hashtags else (),
        cashtags=tuple(dict.fromkeys(each.text for each in entities.symbols if each.text)) if entities.symbols else (),
        mentions=tuple(dict.fromkeys(key for each in entities.user_mentions or () if (key := _mentioned(each)))),
        links=tuple(dict.fromkeys(link for url in entities.urls or () if (link := url.expanded_url or url.url))),
        media=tuple(_media(attachments)),
        place=_place(tweet),
        raw=raw,
    )


def _withheld(countries: list[str] | None) -> tuple[str, ...]:
    return tuple(f"withheld:{code}" for code in countries) if countries else ()


def _text(tweet: Tweet) -> str | None:
    extended = tweet.extended_tweet.full_text if tweet.extended_tweet else None
    text = tweet.full_text or extended or tweet.text
    return html.unescape(text) if text else text


def _entities(tweet: Tweet) -> tuple[_Entities, list[_Attachment]]:
    """The fullest entities sent, and the attachments, which live apart in the extended form."""
    source = tweet.extended_tweet or tweet
    entities = source.entities or tweet.entities or _Entities()
    extended = source.extended_entities or tweet.extended_entities
    return entities, (extended.media if extended else None) or entities.media or []


def _mentioned(mention: _Mention) -> str | None:
    try:
        return key_of(mention.id_str, mention.id)
    except ValueError:
        # People who have left are still mentioned, with null for an id.
        return None


def _media(attachments: list[_Attachment]) -> list[Media]:
    found: list[Media] = []
    for item in attachments:
        url = _video(item) or item.media_url_https
        if url and (item.id_str or item.id is not None):
            identity = NETWORK_PREFIX + key_of(item.id_str, item.id)
            found.append(Media(id=identity, kind=item.type or "unknown", url=url, description=item.ext_alt_text))
    return found


def _video(item: _Attachment) -> str | None:
    variants = item.video_info.variants if item.video_info else None
    best = max(variants or (), key=lambda each: each.bitrate if each.bitrate is not None else -1, default=None)
    return best.url if best else None


def _place(tweet: Tweet) -> Place | None:
    point = _point(tweet)
    if tweet.place is None and point is None:
        return None
    named = tweet.place or _Place()
    longitude, latitude = point or (None, None)
    return Place(name=named.full_name, country=named.country_code or named.country, longitude=longitude, latitude=latitude)


def _point(tweet: Tweet) -> tuple[float, float] | None:
    """Longitude and latitude; the old `geo` field gives them the other way round."""
    if tweet.coordinates and tweet.coordinates.coordinates:
        pair = tweet.coordinates.coordinates[:2]
    elif tweet.geo and tweet.geo.coordinates:
        pair = tweet.geo.coordinates[1::-1]
    else:
        return None
    if len(pair) != 2 or not all(math.isfinite(each) for each in pair) or abs(pair[0]) > 180 or abs(pair[1]) > 90:
        return None
    return pair[0], pair[1]

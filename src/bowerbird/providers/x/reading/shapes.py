"""Users, posts, media and places as the X API sends them, in both spellings, only the fields we map."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.providers.items import Reader
from bowerbird.providers.x.ids import key


class Url(Struct, gc=False):
    url: str | None = None
    expanded_url: str | None = None
    unwound_url: str | None = None


class _Urls(Struct):
    urls: list[Url] | None = None


class _UserEntities(Struct):
    url: _Urls | None = None


class _UserMetrics(Struct, gc=False):
    followers_count: int | None = None
    following_count: int | None = None
    tweet_count: int | None = None
    post_count: int | None = None


class Withheld(Struct):
    country_codes: list[str] | None = None
    copyright: bool | None = None


class Account(Struct):
    id: str | int | None = None
    username: str | None = None
    name: str | None = None
    description: str | None = None
    location: str | None = None
    url: str | None = None
    profile_image_url: str | None = None
    created_at: str | None = None
    protected: bool | None = None
    verified: bool | None = None
    entities: _UserEntities | None = None
    public_metrics: _UserMetrics | None = None
    most_recent_tweet_id: str | int | None = None
    most_recent_post_id: str | int | None = None
    withheld: Withheld | None = None

    @property
    def key(self) -> str:
        return key(self.id)


class _Tag(Struct, gc=False):
    tag: str | None = None


class _Mention(Struct, gc=False):
    id: str | int | None = None


class Entities(Struct):
    hashtags: list[_Tag] | None = None
    cashtags: list[_Tag] | None = None
    mentions: list[_Mention] | None = None
    urls: list[Url] | None = None


class _Note(Struct):
    text: str | None = None
    entities: Entities | None = None


class Reference(Struct, gc=False):
    type: str | None = None
    id: str | int | None = None


class _PostMetrics(Struct, gc=False):
    retweet_count: int | None = None
    repost_count: int | None = None
    reply_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None


class _Attachments(Struct):
    media_keys: list[str] | None = None
    poll_ids: list[str] | None = None


class Point(Struct):
    coordinates: list[float] | None = None


class _Geo(Struct):
    place_id: str | None = None
    coordinates: Point | None = None


class Tweet(Struct):
    id: str | int | None = None
    author_id: str | int | None = None
    created_at: str | None = None
    text: str | None = None
    note_tweet: _Note | None = None
    note_post: _Note | None = None
    lang: str | None = None
    source: str | None = None
    conversation_id: str | int | None = None
    referenced_tweets: list[Reference] | None = None
    referenced_posts: list[Reference] | None = None
    edit_history_tweet_ids: list[str | int] | None = None
    edit_history_post_ids: list[str | int] | None = None
    public_metrics: _PostMetrics | None = None
    possibly_sensitive: bool | None = None
    entities: Entities | None = None
    attachments: _Attachments | None = None
    geo: _Geo | None = None
    withheld: Withheld | None = None

    @property
    def key(self) -> str:
        return key(self.id)

    @property
    def references(self) -> list[Reference]:
        return self.referenced_tweets or self.referenced_posts or []

    @property
    def history(self) -> list[str | int]:
        return self.edit_history_tweet_ids or self.edit_history_post_ids or []

    @property
    def note(self) -> _Note:
        """The long form of a post of more than 280 characters."""
        return self.note_tweet or self.note_post or _Note()

    def refers(self, kind: str, other: str = "") -> str | int | None:
        """The id of the post that this one refers to in that way; the rename may have reached the way itself."""
        return next((each.id for each in self.references if each.type and each.type in (kind, other)), None)


class _Variant(Struct, gc=False):
    url: str | None = None
    bit_rate: int | None = None


class Attachment(Struct):
    media_key: str
    type: str | None = None
    url: str | None = None
    preview_image_url: str | None = None
    alt_text: str | None = None
    variants: list[_Variant] | None = None

    @property
    def address(self) -> str | None:
        """Where the thing itself is: the best variant of a video, the picture, or at least its preview."""
        best = max(self.variants or (), key=lambda each: -1 if each.bit_rate is None else each.bit_rate, default=None)
        return (best.url if best else None) or self.url or self.preview_image_url


class _Option(Struct, gc=False):
    label: str
    position: int = 0
    votes: int | None = None


class Ballot(Struct):
    """A poll, which comes apart from its post."""

    id: str
    options: list[_Option]
    end_datetime: str | None = None
    voting_status: str | None = None


class Location(Struct):
    id: str
    full_name: str | None = None
    name: str | None = None
    country: str | None = None
    country_code: str | None = None


class Popular(Struct):
    trend_name: str | None = None
    tweet_count: int | None = None
    post_count: int | None = None


class Consumption(Struct):
    """How much of the month's posts a project has used; the numbers come as text."""

    project_cap: int | None = None
    project_usage: int | None = None
    cap_reset_day: int | None = None


class OwnList(Struct):
    """A list of accounts that somebody keeps."""

    id: str | int | None = None
    owner_id: str | int | None = None
    name: str | None = None
    description: str | None = None
    private: bool | None = None
    member_count: int | None = None
    follower_count: int | None = None
    created_at: str | None = None


class Stretch(Struct, gc=False):
    """How many posts match a query from one time to another."""

    start: str
    end: str
    tweet_count: int | None = None
    post_count: int | None = None


accounts = Reader(Account)
tweets = Reader(Tweet, "attachments", "entities", "geo")
ballots = Reader(Ballot)
attachments = Reader(Attachment)
locations = Reader(Location)
populars = Reader(Popular)
consumptions = Reader(Consumption)
own_lists = Reader(OwnList)
stretches = Reader(Stretch)

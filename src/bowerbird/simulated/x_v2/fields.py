"""Which fields a request asks for, and the two spellings of the names that are being changed."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bowerbird.simulated.wire import Params
from bowerbird.simulated.x_v2.problems import invalid

_RENAMED = {
    "referenced_tweets": "referenced_posts",
    "edit_history_tweet_ids": "edit_history_post_ids",
    "note_tweet": "note_post",
    "retweet_count": "repost_count",
    "tweet_count": "post_count",
    "most_recent_tweet_id": "most_recent_post_id",
    "pinned_tweet_id": "pinned_post_id",
    "tweets": "posts",
}
_OLD_NAMES = {new: old for old, new in _RENAMED.items()} | {"referenced_posts.author_id": "referenced_tweets.id.author_id"}

_NAMES = {
    "tweet.fields": """article attachments author_id card_uri community_id context_annotations conversation_id created_at
        display_text_range edit_controls edit_history_tweet_ids entities geo id in_reply_to_user_id lang note_tweet
        possibly_sensitive public_metrics referenced_tweets reply_settings source text withheld""",
    "user.fields": """affiliation connection_status created_at description entities id location most_recent_tweet_id name
        pinned_tweet_id profile_banner_url profile_image_url protected public_metrics subscription_type url username verified
        verified_type withheld""",
    "media.fields": "alt_text duration_ms height media_key preview_image_url public_metrics type url variants width",
    "place.fields": "contained_within country country_code full_name geo id name place_type",
    "poll.fields": "duration_minutes end_datetime id options voting_status",
    "list.fields": "created_at description follower_count id member_count name owner_id private",
    "trend.fields": "trend_name tweet_count",
    "usage.fields": "cap_reset_day daily_client_app_usage daily_project_usage project_cap project_id project_usage",
    "expansions": """attachments.media_keys attachments.poll_ids author_id edit_history_tweet_ids entities.mentions.username
        geo.place_id in_reply_to_user_id most_recent_tweet_id owner_id pinned_tweet_id referenced_tweets.id
        referenced_tweets.id.author_id""",
}
_UNASKED = {
    "tweet.fields": "id text edit_history_tweet_ids",
    "user.fields": "id name username",
    "media.fields": "media_key type",
    "place.fields": "id full_name",
    "poll.fields": "id options",
    "list.fields": "id name",
}
_KNOWN = {name: (words.split(), _UNASKED.get(name, "").split()) for name, words in _NAMES.items()}
"""By parameter: what may be asked for, and what comes unasked."""

PARAMETERS = frozenset(_KNOWN) | {"post.fields"}


class Asked(Struct, frozen=True):
    """The fields of one request, in the old spelling."""

    post: frozenset[str]
    user: frozenset[str]
    media: frozenset[str]
    place: frozenset[str]
    poll: frozenset[str]
    list: frozenset[str]
    expansions: frozenset[str]


NOTHING = Asked(*(frozenset[str]() for _ in Asked.__struct_fields__))


def asked(params: Params) -> Asked:
    """What a request asks for; a name that nobody knows is an error."""
    chosen = {parameter: _chosen(params, parameter) for parameter in _KNOWN}
    return Asked(
        post=chosen["tweet.fields"],
        user=chosen["user.fields"],
        media=chosen["media.fields"],
        place=chosen["place.fields"],
        poll=chosen["poll.fields"],
        list=chosen["list.fields"],
        expansions=chosen["expansions"],
    )


def _chosen(params: Params, parameter: str) -> frozenset[str]:
    known, unasked = _KNOWN[parameter]
    written = params.get(parameter) or (params.get("post.fields") if parameter == "tweet.fields" else "")
    names = [_old_name(parameter, name) for name in written.split(",") if name]
    for name in names:
        if name not in known:
            listed = ",".join(known)
            raise invalid(parameter, name, f"The `{parameter}` query parameter value [{name}] is not one of [{listed}]")
    return frozenset(names) | frozenset(unasked)


def _old_name(parameter: str, name: str) -> str:
    if parameter == "expansions" and name == "referenced_posts":
        return "referenced_tweets.id"
    return _OLD_NAMES.get(name, name)


def only(fields: frozenset[str], item: dict[str, Any]) -> dict[str, Any]:
    """The fields asked for, without those that have no value: null is simply absent."""
    return {name: value for name, value in item.items() if name in fields and value is not None}


def in_new_spelling(value: Any) -> Any:
    """The same answer with the names that take the place of the old ones."""
    if isinstance(value, dict):
        return {_RENAMED.get(name, name): in_new_spelling(each) for name, each in value.items()}
    return [in_new_spelling(each) for each in value] if isinstance(value, list) else value

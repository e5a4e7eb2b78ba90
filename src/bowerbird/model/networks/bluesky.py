"""Bluesky."""

from __future__ import annotations

from bowerbird.model.kinds import PostKind
from bowerbird.model.networks.naming import Naming, PageForm
from bowerbird.model.networks.shortcuts import Hearing, Shortcuts
from bowerbird.model.networks.traits import Example, KeyForm, MediaForm, Network, ShortForm, Traits

_SECRETS = (("identifier", "app_password"), ("access_jwt",))

NETWORK = Network(
    name="bluesky",
    keys=KeyForm.SAME,
    has_witnesses=True,
    author_after="at://",
    tells_returns=True,
    tells_edits=False,
    counts_reposts=False,
    not_askable=frozenset({PostKind.COMMENT, PostKind.REPOST}),
    post_forms=("at://did:{author}/app.bsky.feed.post/{key}", "https://bsky.app/profile/did:{author}/post/{key}"),
    short_forms=(
        ShortForm("+", "at://did:plc:", 24, "/app.bsky.feed.post/"),
        ShortForm("-", "at://did:plc:", 24, "/app.bsky.feed.repost/"),
    ),
    media_forms=(
        MediaForm("+", "https://cdn.bsky.app/img/feed_fullsize/plain/did:plc:", "@jpeg"),
        MediaForm("-", "https://video.bsky.app/watch/did:plc:", "/playlist.m3u8"),
        # As pages spell it; records do not.
        MediaForm("~", "https://video.bsky.app/watch/did%3Aplc%3A", "/playlist.m3u8"),
    ),
    naming=Naming(
        pages=(
            PageForm(
                pattern=r"at://(?:(?P<id>did:[^/]+)|(?P<who>[^/]+))(?P<post>/[^/]*/.*)?",
                users=("{id}",),
                handles=("{who}",),
            ),
            PageForm(
                pattern=r"https?://[^/]+/profile/(?:(?P<id>did:[^/?#]+)|(?P<who>[^/?#]+))(?:/post/(?P<post>[^/?#]+))?",
                users=("{id}",),
                handles=("{who}",),
                posts=("at://{id}/app.bsky.feed.post/{post}", "at://{who}/app.bsky.feed.post/{post}"),
                is_anywhere=True,
            ),
        ),
        profile_paths=("profile/",),
        has_domain_handles=True,
        handle_domains=("bsky.social",),
        user_mark="did:",
        user_id=r"did:[a-z]+:[A-Za-z0-9._:%-]+",
    ),
)
BLUESKY = Traits(
    provider="bluesky",
    network=NETWORK,
    base="https://public.api.bsky.app",
    login="https://bsky.social",
    secrets={"user": _SECRETS, "app": _SECRETS},
    credential_names={"user": "a login"},
    not_for_guests=frozenset({"search", "hashtag"}),
    has_one_home=True,
    example=Example(
        user="@bsky.app",
        post="at://did:plc:z72i7hdynmk6r22z27h6tvur/app.bsky.feed.post/3l6oveex3ii2l",
        words_are="words and hashtags (searching takes a login: see base below)",
        stream='channel = "jetstream"\nbase = "wss://jetstream2.us-east.bsky.network"\ncollections = ["app.bsky.feed.post"]',
    ),
    shortcuts=Shortcuts(
        pages=("bsky.app", "main.bsky.dev"),
        marks=("did:", "at://"),
        trends="all",
        shows_itself=True,
        since={"search": "since", "hashtag": "since"},
        until={"search": "until", "hashtag": "until"},
        language={"search": "lang", "hashtag": "lang"},
        hearings=(
            Hearing(
                channel="jetstream",
                base="https://jetstream2.us-east.bsky.network",
                accounts="dids",
                options={"collections": ("app.bsky.feed.post",)},
            ),
        ),
    ),
)

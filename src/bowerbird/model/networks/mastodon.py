"""Mastodon and servers that speak its dialect."""

from __future__ import annotations

from bowerbird.model.networks.naming import Naming, PageForm
from bowerbird.model.networks.shortcuts import Hearing, Shortcuts
from bowerbird.model.networks.traits import Example, KeyForm, Network, Traits

_SECRETS = (("access_token",),)

_PAGE = r"(?P<server>https?://(?P<host>[^/]+))/(?:web/|deck/)?(?:@|users/)(?P<who>[\w.-]*\w)"
_POST = r"(?:/(?:statuses/)?(?P<post>[0-9A-Za-z]+))?"

NETWORK = Network(
    name="mastodon",
    keys=KeyForm.LOCAL,
    has_witnesses=True,
    naming=Naming(
        pages=(
            # Of somebody elsewhere, as this server shows them.
            PageForm(pattern=rf"{_PAGE}@(?P<home>[\w.:-]+){_POST}", handles=("{who}@{home}",), is_anywhere=True),
            PageForm(
                pattern=rf"{_PAGE}{_POST}",
                users=("{server}/users/{who}", "{server}/@{who}"),
                handles=("{who}@{host}",),
                posts=("{server}/users/{who}/statuses/{post}",),
                is_anywhere=True,
            ),
        ),
        profile_paths=("@", "users/"),
    ),
)
MASTODON = Traits(
    provider="mastodon",
    network=NETWORK,
    base="https://mastodon.social",
    secrets={"user": _SECRETS, "app": _SECRETS},
    not_for_guests=frozenset({"search", "quotes"}),
    can_register=True,
    example=Example(
        user="@Gargron",
        post="103270115826048975",
        words_are="hashtags; words are searched for only with the token of a user",
        stream='channel = "hashtag"\ntag = ["caturday"]',
    ),
    shortcuts=Shortcuts(
        trends="tags",
        hearings=(Hearing(channel="hashtag", words="tag", only_tags=True), Hearing(channel="public")),
    ),
)

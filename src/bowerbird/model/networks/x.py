"""X, with its API v2 and the classic v1.1."""

from __future__ import annotations

from bowerbird.model.networks.naming import Naming, PageForm
from bowerbird.model.networks.shortcuts import Hearing, Shortcuts
from bowerbird.model.networks.traits import Example, Network, Traits

_OAUTH = ("consumer_key", "consumer_secret", "access_token", "access_token_secret")
_USER, _POST = "@XDevelopers", "1212092628029698048"

_PAGE = r"https?://(?:www\.|mobile\.)?(?:x|twitter)\.com/@?(?P<who>[A-Za-z0-9_]{1,15})(?:/status(?:es)?/(?P<post>\d+))?"

NETWORK = Network(
    name="x",
    edits_keep_ids=False,
    naming=Naming(
        pages=(PageForm(pattern=_PAGE, handles=("{who}",), posts=("x:{post}",)),),
        profile="https://x.com/{}",
        profile_hosts=("x.com", "mobile.x.com", "twitter.com", "mobile.twitter.com"),
        profile_paths=("intent/user?screen_name=",),
        # `@alice-san` mentions alice there; on the other networks a handle may have a hyphen or a dot.
        mention="@[A-Za-z0-9_]{1,20}",
    ),
)
X = Traits(
    provider="x",
    network=NETWORK,
    base="https://api.x.com",
    servers=("https://api.x.com", "https://api.twitter.com"),
    secrets={"user": (_OAUTH, ("access_token",)), "app": (("bearer_token",),)},
    easiest_kind="app",
    example=Example(user=_USER, post=_POST, stream='channel = "filter"\nrules = ["#caturday lang:en"]'),
    shortcuts=Shortcuts(
        pages=("x.com", "mobile.x.com", "twitter.com", "mobile.twitter.com"),
        marks=("x:",),
        trends="1",
        has_roots=True,
        since=dict.fromkeys(("search", "hashtag", "timeline", "volumes"), "start_time"),
        until=dict.fromkeys(("search", "hashtag", "timeline", "volumes"), "end_time"),
        language_form="{} lang:{}",
        hearings=(Hearing(channel="filter", words="rules", accounts="rules", account_form="from:{}"),),
    ),
)
TWITTER_V1 = Traits(
    provider="twitter_v1",
    network=NETWORK,
    base="https://api.twitter.com",
    servers=("https://api.twitter.com", "https://api.x.com", "https://stream.twitter.com"),
    secrets={"user": (_OAUTH, ("bearer_token",)), "app": (("bearer_token",), _OAUTH)},
    easiest_kind="app",
    example=Example(user=_USER, post=_POST, stream='channel = "filter"\ntrack = ["caturday"]'),
    shortcuts=Shortcuts(language_form="{} lang:{}", hearings=(Hearing(channel="filter", words="track", accounts="follow"),)),
)

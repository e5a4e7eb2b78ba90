"""What is particular to a network, and to each API of it, as plain data: how it names accounts and
posts, what its credentials are, and how the one-line commands use it. To add a network, add its two
records at the end."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from bowerbird.model.kinds import PostKind


class PageForm(Struct, frozen=True, kw_only=True):
    """URLs of an account or a post."""

    pattern: str
    """A regular expression for the URL without its query; the group `post` is the id of a post."""
    users: tuple[str, ...] = ()
    """Ids of the account, as templates over the groups of the pattern; a template whose group is
    missing is skipped."""
    handles: tuple[str, ...] = ()
    posts: tuple[str, ...] = ()
    """Ids of the post, as templates."""
    is_anywhere: bool = False
    """The pattern matches any host: tried after those with a host of their own."""


class Naming(Struct, frozen=True, kw_only=True):
    """How accounts and posts are named in texts and URLs, to find who is to be forgotten or
    pseudonymized."""

    pages: tuple[PageForm, ...] = ()
    """Tried in order; the first match counts."""
    profile: str = ""
    """Template of the profile URL for a handle, on networks whose handles do not name the network.
    """
    profile_hosts: tuple[str, ...] = ()
    """Hosts whose URLs have an account right after the host."""
    profile_paths: tuple[str, ...] = ()
    """Path prefixes before an account name, on any host."""
    has_domain_handles: bool = False
    """Handles are domain names."""
    handle_domains: tuple[str, ...] = ()
    """Domains that most handles end with."""
    mention: str = ""
    """A regular expression for a mention; empty: everything that can be a handle."""
    user_mark: str = ""
    """Prefix of account ids that only this network has."""
    user_id: str = ""
    """A regular expression for such an id inside a text."""


class Hearing(Struct, frozen=True, kw_only=True):
    """How `bowerbird stream` uses a channel."""

    channel: str
    base: str = ""
    """The base URL of the stream, if it differs from the API."""
    words: str = ""
    """The option for words and hashtags; empty: the stream has everything and is filtered locally.
    """
    accounts: str = ""
    """The option for accounts, if there is one."""
    account_form: str = "{}"
    only_tags: bool = False
    """The channel takes only hashtags."""
    options: Mapping[str, tuple[str, ...]] = {}


class Shortcuts(Struct, frozen=True, kw_only=True):
    """What the one-line commands know about a network."""

    pages: tuple[str, ...] = ()
    """Hosts of its web pages."""
    marks: tuple[str, ...] = ()
    """Prefixes of ids that only this network has."""
    trends: str = ""
    """The default target of the facet `trends`; empty: it has none."""
    has_roots: bool = False
    """A conversation is requested by its first post."""
    shows_itself: bool = False
    """A thread includes the requested post itself."""
    since: Mapping[str, str] = {}
    """By facet: the hint for the earliest time."""
    until: Mapping[str, str] = {}
    language: Mapping[str, str] = {}
    """By facet: the hint for the language."""
    language_form: str = ""
    """Template of a query for one language."""
    hearings: tuple[Hearing, ...] = ()
    """Tried in order; the first that takes the request is used."""


class KeyForm(StrEnum):
    """How the key on a service relates to the global id."""

    PREFIXED = "prefixed"
    """The id is the network's name and the key."""
    SAME = "same"
    """The key is the id."""
    LOCAL = "local"
    """Keys are local to a server, so the store keeps them."""


class ShortForm(Struct, frozen=True):
    """A form of post ids that the store shortens: prefix, author, infix, key."""

    mark: str
    """The character that replaces the constant parts; no id begins with it."""
    begins: str
    characters: int
    middle: str


class MediaForm(Struct, frozen=True):
    """A form of media URLs that the store shortens: prefix, author, `/`, id, suffix."""

    mark: str
    """The character that replaces the constant parts; no URL begins with it."""
    begins: str
    ends: str


class Network(Struct, frozen=True, kw_only=True):
    """The rules of a network, the same for all its APIs."""

    name: str
    keys: KeyForm = KeyForm.PREFIXED
    has_witnesses: bool = False
    """Several servers report the same account, some with more authority."""
    author_after: str = ""
    """What stands before the author's id in that of a post, so that a post shown under somebody
    else is forged; empty: ids name nobody."""
    tells_returns: bool = False
    """A stream announces that an account is back; elsewhere a profile embedded in a new post shows
    it."""
    edits_keep_ids: bool = True
    """An edited post stays the same post."""
    tells_edits: bool = True
    """A post without an edit time is the first version, also outside streams."""
    counts_reposts: bool = True
    """The post counter of a profile includes reposts."""
    reposts_name_the_way: bool = False
    """The text of a repost names the accounts it passed through."""
    post_forms: tuple[str, str] | None = None
    """Templates of a post id and its URL over `{author}` and `{key}`, if each follows from the
    other."""
    short_forms: tuple[ShortForm, ...] = ()
    """Forms that SQLite stores shortened; a new one needs another schema version."""
    media_forms: tuple[MediaForm, ...] = ()
    """The same for media URLs."""
    not_askable: frozenset[PostKind] = frozenset({PostKind.COMMENT})
    """Kinds of posts that cannot be requested by id."""
    naming: Naming = Naming()


class Example(Struct, frozen=True, kw_only=True):
    """Values for the first crawl file that `bowerbird init` writes."""

    user: str
    post: str
    word: str = "#caturday"
    words_are: str = "words and hashtags"
    stream: str = ""
    """The lines of a `[[streams]]` table; empty without streams."""


Fields = tuple[tuple[str, ...], ...]
"""Alternative sets of secret fields; the user is asked for the first."""


class Traits(Struct, frozen=True, kw_only=True):
    """One API of a network: its address, credentials and examples."""

    provider: str
    network: Network
    base: str
    """The usual address."""
    login: str = ""
    """The address for logins, if it differs."""
    servers: tuple[str, ...] = ()
    """The addresses that may see a credential; empty if each server has its own credentials."""
    secrets: Mapping[str, Fields]
    """By kind of credential."""
    easiest_kind: str = "user"
    """The kind of credential that is easiest to get."""
    credential_names: Mapping[str, str] = {}
    """By kind: the name of such a credential, if not a token."""
    not_for_guests: frozenset[str] = frozenset()
    """Facets that need a credential although most others do not."""
    can_register: bool = False
    """Servers register applications and issue tokens on request."""
    has_one_home: bool = False
    """A credential belongs to the server that its sessions were opened at."""
    example: Example
    shortcuts: Shortcuts = Shortcuts()


# Bluesky

_BLUESKY_SECRETS = (("identifier", "app_password"), ("access_jwt",))

_BLUESKY_NETWORK = Network(
    name="bluesky",
    keys=KeyForm.SAME,
    has_witnesses=True,
    author_after="at://",
    tells_returns=True,
    tells_edits=False,
    counts_reposts=False,
    not_askable=frozenset({PostKind.COMMENT, PostKind.REPOST}),
    post_forms=(
        "at://did:{author}/app.bsky.feed.post/{key}",
        "https://bsky.app/profile/did:{author}/post/{key}",
    ),
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
                posts=(
                    "at://{id}/app.bsky.feed.post/{post}",
                    "at://{who}/app.bsky.feed.post/{post}",
                ),
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
    network=_BLUESKY_NETWORK,
    base="https://public.api.bsky.app",
    login="https://bsky.social",
    secrets={"user": _BLUESKY_SECRETS, "app": _BLUESKY_SECRETS},
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


# Mastodon

_MASTODON_SECRETS = (("access_token",),)

_MASTODON_PAGE = r"(?P<server>https?://(?P<host>[^/]+))/(?:web/|deck/)?(?:@|users/)(?P<who>[\w.-]*\w)"
_MASTODON_POST = r"(?:/(?:statuses/)?(?P<post>[0-9A-Za-z]+))?"

_MASTODON_NETWORK = Network(
    name="mastodon",
    keys=KeyForm.LOCAL,
    has_witnesses=True,
    naming=Naming(
        pages=(
            # Of somebody elsewhere, as this server shows them.
            PageForm(
                pattern=rf"{_MASTODON_PAGE}@(?P<home>[\w.:-]+){_MASTODON_POST}",
                handles=("{who}@{home}",),
                is_anywhere=True,
            ),
            PageForm(
                pattern=rf"{_MASTODON_PAGE}{_MASTODON_POST}",
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
    network=_MASTODON_NETWORK,
    base="https://mastodon.social",
    secrets={"user": _MASTODON_SECRETS, "app": _MASTODON_SECRETS},
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
        hearings=(
            Hearing(channel="hashtag", words="tag", only_tags=True),
            Hearing(channel="public"),
        ),
    ),
)


# Weibo

_WEIBO_SECRETS = (("access_token",),)

_WEIBO_HOST = r"https?://(?:www\.|m\.|e\.)?weibo\.(?:com|cn)"

_WEIBO_NETWORK = Network(
    name="weibo",
    reposts_name_the_way=True,
    naming=Naming(
        pages=(
            PageForm(
                pattern=rf"{_WEIBO_HOST}/(?:u/|profile/)?(?P<number>\d{{6,20}})",
                users=("weibo:{number}",),
            ),
            PageForm(pattern=rf"{_WEIBO_HOST}/n/(?P<who>[\w-]{{1,30}})", handles=("{who}",)),
        ),
        profile="https://weibo.com/n/{}",
        profile_hosts=("weibo.com", "m.weibo.com", "e.weibo.com", "weibo.cn", "m.weibo.cn"),
        profile_paths=("u/", "n/", "profile/"),
    ),
)
WEIBO = Traits(
    provider="weibo",
    network=_WEIBO_NETWORK,
    base="https://api.weibo.com",
    servers=("https://api.weibo.com",),
    secrets={"user": _WEIBO_SECRETS, "app": _WEIBO_SECRETS},
    example=Example(user="1642634100", post="3432603961237211", word="猫", words_are="words and topics"),
    shortcuts=Shortcuts(pages=("weibo.com", "m.weibo.cn", "weibo.cn"), marks=("weibo:",), trends="hourly"),
)


# X

_X_OAUTH = ("consumer_key", "consumer_secret", "access_token", "access_token_secret")
_X_USER, _X_POST = "@XDevelopers", "1212092628029698048"

_X_PAGE = r"https?://(?:www\.|mobile\.)?(?:x|twitter)\.com/@?(?P<who>[A-Za-z0-9_]{1,15})(?:/status(?:es)?/(?P<post>\d+))?"

_X_NETWORK = Network(
    name="x",
    edits_keep_ids=False,
    naming=Naming(
        pages=(PageForm(pattern=_X_PAGE, handles=("{who}",), posts=("x:{post}",)),),
        profile="https://x.com/{}",
        profile_hosts=("x.com", "mobile.x.com", "twitter.com", "mobile.twitter.com"),
        profile_paths=("intent/user?screen_name=",),
        # `@alice-san` mentions alice there; on the other networks a handle may have a hyphen or a
        # dot.
        mention="@[A-Za-z0-9_]{1,20}",
    ),
)
X = Traits(
    provider="x",
    network=_X_NETWORK,
    base="https://api.x.com",
    servers=("https://api.x.com", "https://api.twitter.com"),
    secrets={"user": (_X_OAUTH, ("access_token",)), "app": (("bearer_token",),)},
    easiest_kind="app",
    example=Example(user=_X_USER, post=_X_POST, stream='channel = "filter"\nrules = ["#caturday lang:en"]'),
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
    network=_X_NETWORK,
    base="https://api.twitter.com",
    servers=("https://api.twitter.com", "https://api.x.com", "https://stream.twitter.com"),
    secrets={"user": (_X_OAUTH, ("bearer_token",)), "app": (("bearer_token",), _X_OAUTH)},
    easiest_kind="app",
    example=Example(user=_X_USER, post=_X_POST, stream='channel = "filter"\ntrack = ["caturday"]'),
    shortcuts=Shortcuts(
        language_form="{} lang:{}",
        hearings=(Hearing(channel="filter", words="track", accounts="follow"),),
    ),
)


TRAITS: Mapping[str, Traits] = {each.provider: each for each in (BLUESKY, MASTODON, TWITTER_V1, WEIBO, X)}
"""By provider."""
NETWORKS: Mapping[str, Network] = {each.network.name: each.network for each in TRAITS.values()}
"""By name."""
FIRST = MASTODON.provider
"""The default network: free, and works without a credential."""
USER_MARKS = tuple(each.naming.user_mark for each in NETWORKS.values() if each.naming.user_mark)
"""Prefixes of account ids."""

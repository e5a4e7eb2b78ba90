"""Addresses of every network lead to the people and posts that are meant, by what the network says of itself."""

from __future__ import annotations

import re

import pytest

from bowerbird.model import NETWORKS, Subject
from bowerbird.store.forgetting.names import wished


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("https://x.com/Alice", {"handle x alice"}),
        ("https://weibo.com/u/1234567", {"user weibo:1234567"}),
        ("https://m.weibo.cn/profile/1234567", {"user weibo:1234567"}),
        ("https://weibo.com/n/Alice", {"handle weibo alice"}),
        ("https://bsky.app/profile/did:plc:abc", {"user did:plc:abc"}),
        ("https://bsky.app/profile/Alice.example", {"handle bluesky alice.example"}),
        ("at://did:plc:abc", {"user did:plc:abc"}),
        ("https://a.example/@bob@b.example", {"handle mastodon bob@b.example"}),
        (
            "https://a.example/@bob",
            {"handle mastodon bob@a.example", "user https://a.example/@bob", "user https://a.example/users/bob"},
        ),
    ],
)
def test_an_address_names_the_account_it_leads_to(address: str, names: set[str]) -> None:
    assert wished(address, None, None) == names | {f"user {address}"}
    assert wished(f"{address}/?tab=1#top", None, Subject.USER) == names | {f"user {address}"}


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("https://x.com/alice/status/12", {"post x:12"}),
        ("https://bsky.app/profile/did:plc:abc/post/3k", {"post at://did:plc:abc/app.bsky.feed.post/3k"}),
        ("at://did:plc:abc/app.bsky.feed.post/3k", set()),
        ("at://did:plc:abc//3k", set()),
        ("https://a.example/@bob/12", {"post https://a.example/users/bob/statuses/12"}),
        ("https://a.example/@bob@b.example/12", set()),
    ],
)
def test_an_address_of_a_post_names_the_post_and_not_its_author(address: str, names: set[str]) -> None:
    assert wished(address, None, None) == names | {f"post {address}"}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_a_network_says_of_its_names_can_be_read(name: str) -> None:
    naming = NETWORKS[name].naming
    assert naming.pages, "its people could not be forgotten by the addresses of their profiles"
    for page in naming.pages:
        groups = set(re.compile(page.pattern).groupindex)
        assert {group for form in (*page.users, *page.handles, *page.posts) for group in re.findall(r"{(\w+)}", form)} <= groups
    for pattern in (naming.mention, naming.user_id):
        re.compile(pattern)

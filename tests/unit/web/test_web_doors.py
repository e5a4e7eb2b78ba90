"""What a request says of its way here, judged: names, origins, proxies, addresses."""

from __future__ import annotations

import pytest

from bowerbird.errors import UserError
from bowerbird.transport.serving import Listening
from bowerbird.web.security.doors import Door, inside
from bowerbird.web.security.passwords import checked
from bowerbird.web.security.tries import network_of
from failures import raises_code

HERE = Door()
PROXIED = Door(names=("crawl.example",), is_behind_proxy=True)


@pytest.mark.parametrize(
    ("door", "host", "own", "is_known"),
    [
        (HERE, "127.0.0.1:8440", "127.0.0.1", True),
        (HERE, "localhost:9000", "127.0.0.1", True),
        (HERE, "[::1]:8440", "::1", True),
        (HERE, "LOCALHOST.", "127.0.0.1", True),
        (HERE, "evil.example", "127.0.0.1", False),
        (HERE, "localhost.evil.example", "127.0.0.1", False),
        (HERE, "localhost/", "127.0.0.1", False),
        (HERE, "user@localhost", "127.0.0.1", False),
        (HERE, "localhost:port", "127.0.0.1", False),
        (HERE, "192.0.2.7", "127.0.0.1", False),
        (Door(host="0.0.0.0"), "192.0.2.7:8440", "192.0.2.7", True),
        (Door(host="0.0.0.0"), "localhost", "192.0.2.7", False),
        (Door(host="0.0.0.0"), "rebound.example", "192.0.2.7", False),
        (PROXIED, "crawl.example", "127.0.0.1", True),
        (PROXIED, "a" * 300, "127.0.0.1", False),
    ],
)
def test_only_our_own_names_are_known(door: Door, host: str, own: str, is_known: bool) -> None:
    assert door.knows(host, own) is is_known


def test_a_proxy_is_believed_only_where_there_is_one_and_only_its_last_word() -> None:
    told = {"x-forwarded-for": "6.6.6.6, 203.0.113.9", "x-forwarded-proto": "https", "host": "crawl.example"}
    assert PROXIED.address(told, "127.0.0.1") == "203.0.113.9"
    assert PROXIED.address({"x-forwarded-for": "nonsense"}, "127.0.0.1") == "127.0.0.1"
    assert HERE.address(told, "127.0.0.1") == "127.0.0.1"
    assert (PROXIED.is_secure(told), HERE.is_secure(told), PROXIED.is_secure({})) == (True, False, False)
    assert PROXIED.cookie(told) == "__Host-bowerbird"
    assert HERE.cookie({"host": "127.0.0.1:8440"}) == "bowerbird8440"


def test_names_are_those_of_hosts_alone() -> None:
    door = Door.of(Listening(), ("Crawl.Example.", "[2001:db8::1]"))
    assert door.names == ("crawl.example", "2001:db8::1")
    assert not door.is_private
    for wrong in ("https://crawl.example", "crawl.example:80", "", "a b"):
        with raises_code(UserError, "invalid_address") as caught:
            Door.of(Listening(), (wrong,))
        assert "--name" in caught.value.problem
        assert repr(wrong) in caught.value.problem


def test_who_sent_a_form_is_seen_by_what_browsers_say() -> None:
    host, door = {"host": "crawl.example:444"}, Door(names=("crawl.example",), is_tls=True)
    assert not door.is_foreign(host, is_safe=False)
    assert not door.is_foreign({**host, "origin": "https://crawl.example:444"}, is_safe=False)
    for origin in ("https://crawl.example", "http://crawl.example:444", "file://crawl.example:444", "null", "https://[", "x"):
        assert door.is_foreign({**host, "origin": origin}, is_safe=False), origin
    plain = {"host": "crawl.example", "origin": "https://crawl.example"}
    assert not door.is_foreign(plain, is_safe=False)
    assert not PROXIED.is_foreign({**plain, "x-forwarded-proto": "https"}, is_safe=False)
    assert HERE.is_foreign(plain, is_safe=False)


def test_after_the_login_only_our_own_paths_are_gone_to() -> None:
    assert inside("/users/a%2Fb?x=1") == "/users/a%2Fb?x=1"
    assert {inside(each) for each in ("", "x", "//x", "/\\x", "/a\\b", "/a\nb", "http://x", "/" * 3_000)} == {"/"}


def test_one_household_is_one_address() -> None:
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2::") == "2001:db8:1:2::"
    assert network_of("::ffff:192.0.2.1") == network_of("192.0.2.1") == "192.0.2.1"


@pytest.mark.parametrize("weak", ["", "short", "x" * 1_025, "abababababab", "ada1234"])
def test_weak_passwords_are_refused(weak: str) -> None:
    with pytest.raises(UserError):
        checked(weak, "ada")
    assert checked("a longer one", "ada") == "a longer one"

"""Which addresses pictures may be fetched from: those of the open internet, however they are written."""

from __future__ import annotations

import pytest

from bowerbird.transport.public import is_public, web_address


@pytest.mark.parametrize("address", ["93.184.215.14", "8.8.8.8", "2606:4700::6810:84e5", "::ffff:93.184.215.14"])
def test_addresses_of_the_open_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0"),
        *("fc00::1", "fd12:3456::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1"),
        *("2002:7f00:1::", "2001:db8::1", "localhost", "", "127.1", "fec0::1", "64:ff9b:1::7f00:1", "::7f00:1"),
    ],
)
def test_addresses_of_this_machine_and_its_network_are_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://example.org/a.png",
            "data:image/png;base64,AA",
            "//example.org/a.png",
            "http:///a.png",
            "",
        ),
        *("gopher://example.org", "https://me:secret@example.org/a.png", "http://[::1/a.png"),
    ],
)
def test_what_is_no_address_of_the_web_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        web_address(url)

"""No secret is ever seen by a host that it does not belong to: real servers on loopback, and every byte they are sent."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from recorded import Handler, Scene, scene

from bowerbird.errors import CredentialError
from bowerbird.evaluate.leaks import Leak
from failures import raises_code
from marks import long

PROVIDERS = ("bluesky", "mastodon", "twitter_v1", "weibo", "x")
STREAMS = {
    "mastodon": ("public", "public_events"),
    "twitter_v1": ("sample",),
    "x": ("sample",),
}
LISTENING = [(provider, channel) for provider, channels in STREAMS.items() for channel in channels]
REDIRECTS = (301, 307, *long(302, 303, 308))
SECRETS = {
    "bluesky": {"identifier": "ada.example", "app_password": "abcd-efgh-ijkl-mnop"},
    "mastodon": {"access_token": "Zm9vYmFyYmF6-token_of_ours"},
    "twitter_v1": {
        "consumer_key": "consumerkeyofours",
        "consumer_secret": "consumersecretofours",
        "access_token": "12345-accesstokenofours",
        "access_token_secret": "accesstokensecretofours",
    },
    "weibo": {"access_token": "2.00tokenofweibo"},
    "x": {"bearer_token": "AAAAAAAAbearer%2Btokenofours%3D"},
}


def redirecting(to: str, status: int) -> Handler:
    """Sends every visitor on to another server, to the same path there."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"location": f"{to}{request.path_qs}"})

    return answer


async def failing(request: web.Request) -> web.StreamResponse:
    return web.json_response({"error": "The access token is invalid"}, status=401)


async def welcoming(request: web.Request) -> web.StreamResponse:
    """Opens a session for anybody, and knows nothing else."""
    opened = {"accessJwt": "a-session-of-this-server", "refreshJwt": "the-refresh-of-this-server", "did": "did:plc:" + "a" * 24}
    return web.json_response(opened if request.path.endswith("createSession") else {}, status=200)


async def with_foreign(host: Scene, provider: str) -> str:
    """A server of its own whose credential is in the same vault, as well as others of nobody and of the network itself."""
    base = await host.simulated("b", provider)
    host.keep("elsewhere", provider, SECRETS[provider], "https://elsewhere.example", kind="user")
    return base


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_crawl_that_names_no_credential_uses_those_of_its_own_server_alone(tmp_path: Path, provider: str) -> None:
    async with scene(tmp_path) as here:
        await here.simulated("a", provider)
        await with_foreign(here, provider)
        ending = await here.run(here.plan(provider, "a"))
        assert ending.state in ("finished", "stopped"), ending.reason
        assert here.witness.leaks(here.vault) == []
        reached = here.witness.reached(here.vault)
        assert reached
        assert all(name.startswith("a-") for name in reached)
        assert here.stored == []


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_file_that_names_the_credential_of_another_server_is_refused_before_anything_is_sent(
    tmp_path: Path, provider: str
) -> None:
    async with scene(tmp_path) as here:
        await here.simulated("a", provider)
        base = await with_foreign(here, provider)
        of_a_facet = 'flow = {use = "timelines", facets = {timeline = {credentials = ["b-user"]}}}'
        for plan in (here.plan(provider, "a", 'credentials = ["b-user"]'), here.plan(provider, "a", flow=of_a_facet)):
            with raises_code(CredentialError, "credential_of_other_server") as caught:
                await here.run(plan)
            assert all(value in caught.value.problem for value in ("'b-user'", base, here.bases["a"]))
        assert here.witness.heard(here.bases["a"]) == b""


@pytest.mark.parametrize("provider", ["bluesky", "mastodon"])
async def test_a_credential_of_no_server_is_sent_to_none_and_the_error_says_how_to_bind_it(tmp_path: Path, provider: str) -> None:
    async with scene(tmp_path) as here:
        await here.answering("a", failing)
        here.keep("old", provider, SECRETS[provider])
        for written in ("", 'credentials = ["old"]'):
            with raises_code(CredentialError, "credential_of_other_server") as caught:
                await here.run(here.plan(provider, "a", written))
            assert "bowerbird credentials bind old --server" in caught.value.advice
        assert here.witness.heard(here.bases["a"]) == b""


@pytest.mark.parametrize("provider", ["twitter_v1", "weibo", "x"])
async def test_the_key_to_a_network_goes_to_its_own_address_and_not_to_whatever_a_file_names(
    tmp_path: Path, provider: str
) -> None:
    async with scene(tmp_path) as here:
        await here.answering("a", failing)
        here.keep("real", provider, SECRETS[provider], kind="app")
        with raises_code(CredentialError, "credential_of_other_server") as caught:
            await here.run(here.plan(provider, "a", 'credentials = ["real"]'))
        assert all(value in caught.value.problem for value in ("'real'", here.bases["a"]))
        assert here.witness.heard(here.bases["a"]) == b""
        await here.run(here.plan(provider, "a"), until=lambda: here.witness.heard(here.bases["a"]) != b"")
        assert here.witness.heard(here.bases["a"]) != b""
        assert here.witness.leaks(here.vault) == []


@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_redirect_takes_no_secret_to_another_server(tmp_path: Path, provider: str, status: int) -> None:
    async with scene(tmp_path) as here:
        there = await here.answering("b", welcoming)
        await here.answering("a", redirecting(there, status))
        here.keep("mine", provider, SECRETS[provider], here.bases["a"])
        await here.run(here.plan(provider, "a"), until=lambda: here.witness.reached(here.vault) == {"mine"})
        assert here.witness.reached(here.vault) == {"mine"}
        assert here.witness.leaks(here.vault) == []
        assert here.witness.heard(there) == b"", "nothing follows to another host, signed or not"


@pytest.mark.parametrize("to", ["https://{host}", "http://localhost:{port}", "//{other}", "http://{host}@{other}", "\\\\{other}"])
async def test_nor_do_redirects_that_only_look_like_the_same_host(tmp_path: Path, to: str) -> None:
    async with scene(tmp_path) as here:
        there = await here.answering("b", welcoming)
        place: list[str] = []

        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"location": place[0] + request.path_qs})

        base = await here.answering("a", answer)
        host, other = urlsplit(base).netloc, urlsplit(there).netloc
        place.append(to.format(host=host, port=urlsplit(there).port, other=other))
        here.keep("mine", "mastodon", SECRETS["mastodon"], base)
        await here.run(here.plan("mastodon", "a"), until=lambda: here.witness.reached(here.vault) == {"mine"})
        assert here.witness.reached(here.vault) == {"mine"}
        assert here.witness.heard(there) == b""


@pytest.mark.parametrize(("provider", "channel"), LISTENING)
async def test_a_stream_is_opened_with_its_own_servers_secret_alone(tmp_path: Path, provider: str, channel: str) -> None:
    async with scene(tmp_path) as here:
        await here.simulated("a", provider)
        await with_foreign(here, provider)
        plan = here.plan(provider, "a", "", f'[[streams]]\nchannel = "{channel}"', flow="listen")
        await here.run(plan, until=lambda: bool(here.witness.reached(here.vault)))
        assert here.witness.leaks(here.vault) == []
        assert all(name.startswith("a-") for name in here.witness.reached(here.vault))
        assert here.witness.reached(here.vault)


@pytest.mark.parametrize(("provider", "channel"), LISTENING)
async def test_a_stream_from_a_host_that_is_not_the_servers_needs_its_owners_word(
    tmp_path: Path, provider: str, channel: str
) -> None:
    """The host of a stream is whatever the crawl file says."""
    async with scene(tmp_path) as here:
        await here.simulated("a", provider)
        there = await here.answering("b", failing)
        more = f'[[streams]]\nchannel = "{channel}"\nbase = "{there}"'
        for named in ("", f'\ncredential = "a-{"app" if provider == "x" else "user"}"'):
            with raises_code(CredentialError, "credential_of_other_server") as caught:
                await here.run(here.plan(provider, "a", "", more + named, flow="listen"))
            assert there in caught.value.problem
            assert f"--server {there}" in caught.value.advice
        assert here.witness.heard(there) == b""


async def test_a_stream_that_needs_no_secret_gets_none_from_another_host(tmp_path: Path) -> None:
    """Jetstream and the firehose come from hosts of their own: the session of the host that answers is not theirs."""
    async with scene(tmp_path) as here:
        await here.simulated("a", "bluesky")
        there = await here.answering("b", failing)
        for channel in ("jetstream", "firehose"):
            more = f'[[streams]]\nchannel = "{channel}"\nbase = "{there}"'
            before = len(here.witness.heard(there))
            await here.run(here.plan("bluesky", "a", "", more), until=lambda: len(here.witness.heard(there)) > before)  # noqa: B023
        assert here.witness.heard(there) != b""
        assert here.witness.leaks(here.vault) == []
        assert b"uthorization" not in here.witness.heard(there)


@pytest.mark.parametrize("status", REDIRECTS)
@pytest.mark.parametrize(("provider", "channel"), LISTENING)
async def test_a_redirected_stream_takes_no_secret_along(tmp_path: Path, provider: str, channel: str, status: int) -> None:
    async with scene(tmp_path) as here:
        there = await here.answering("b", welcoming)
        await here.answering("a", redirecting(there, status))
        kind = "app" if provider == "x" else "user"
        here.keep("mine", provider, SECRETS[provider], here.bases["a"], kind=kind)
        plan = here.plan(provider, "a", "", f'[[streams]]\nchannel = "{channel}"', flow="listen")
        await here.run(plan, until=lambda: here.witness.reached(here.vault) == {"mine"})
        assert here.witness.reached(here.vault) == {"mine"}
        assert here.witness.heard(there) == b""


async def test_a_session_is_never_shown_to_another_server(tmp_path: Path) -> None:
    """Two hosts one logs in at, two app passwords, one crawl after the other."""
    async with scene(tmp_path) as here:
        for name in ("a", "b"):
            await here.simulated(name, "bluesky")
        for name in ("a", "b", "a"):
            await here.run(here.plan("bluesky", name, f'credentials = ["{name}-user"]'))
        assert here.witness.reached(here.vault) >= {"a-user", "b-user"}
        assert "access_jwt" in here.vault.secret("a-user").values
        assert here.witness.leaks(here.vault) == []
        # Bound anew, the session that the old server opened is forgotten before the new one could see it.
        session = here.vault.secret("a-user").values["access_jwt"]
        before = len(here.witness.heard(here.bases["b"]))
        here.vault.bind("a-user", [here.bases["b"]])
        await here.run(here.plan("bluesky", "b", 'credentials = ["a-user"]'))
        since = here.witness.heard(here.bases["b"])[before:]
        assert since.startswith(b"POST /xrpc/com.atproto.server.createSession ")
        assert session.encode() not in since


def test_a_leak_is_found_in_whatever_spelling(tmp_path: Path) -> None:
    """Who finds nothing must be able to find something."""
    from base64 import b64encode
    from urllib.parse import quote

    from bowerbird.evaluate.leaks import Witness
    from bowerbird.limits.vault import FileVault
    from bowerbird.model import Credential, Secret

    vault = FileVault(tmp_path / "vault", "password", cost=2)
    token = "a/secret+token=of&ours"
    vault.add(Credential(name="mine", provider="x", servers=("https://a.example",)), Secret(name="mine", values={"t": token}))
    spellings = [token, quote(token, safe=""), quote(quote(token, safe="")), token.replace("/", "\\/")]
    spellings += [b64encode(f"{before}{token}{after}".encode()).decode() for before in ("", "u", "ab") for after in ("", ":x")]
    for number, text in enumerate(spellings):
        witness = Witness()
        witness.hear(f"https://b{number}.example", b"x: " + text.encode())
        witness.hear("https://a.example", b"x: " + text.encode())
        assert witness.leaks(vault) == [Leak("mine", f"https://b{number}.example")], text
        assert witness.reached(vault) == {"mine"}

"""How ids relate to the keys of a service, network by network. Pure."""

from __future__ import annotations

from bowerbird.model import Network

_LOCAL_KEYS = frozenset({Network.MASTODON.value})
_KEY_IS_ID = frozenset({Network.BLUESKY.value})
_TELLS_RETURNS = frozenset({Network.BLUESKY.value})


def has_local_keys(network: str) -> bool:
    """Whether a key means something only on the service that uses it, so that the store must remember it."""
    return network in _LOCAL_KEYS


def id_for(network: str, service: str, key: str) -> str:
    """The global id of a key; a provisional one where only the subject itself can tell the real one."""
    if network in _KEY_IS_ID:
        return key
    return f"{network}:{service}/{key}" if network in _LOCAL_KEYS else f"{network}:{key}"


def key_in(network: str, known_id: str) -> str | None:
    """The key inside a global id; None where the id does not contain what a service calls it."""
    if network in _KEY_IS_ID:
        return known_id
    return None if network in _LOCAL_KEYS else known_id.removeprefix(f"{network}:")


def is_provisional(network: str, known_id: str) -> bool:
    return network in _LOCAL_KEYS and known_id.startswith(f"{network}:")


def tells_returns(network: str) -> bool:
    """Whether a stream says by itself that an account is back; elsewhere its profile, sent with a new post, is the sign."""
    return network in _TELLS_RETURNS

"""How ids relate to the keys of a service, by the rules of its network. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bowerbird.model import NETWORKS, KeyForm

PROVISIONAL = tuple(f"{each.name}:" for each in NETWORKS.values() if each.keys is KeyForm.LOCAL)
"""How ids begin that are made up of a service and its key."""


def has_local_keys(network: str) -> bool:
    """Whether a key means something only on the service that uses it, so that the store must remember it."""
    return NETWORKS[network].keys is KeyForm.LOCAL


def id_for(network: str, service: str, key: str) -> str:
    """The global id of a key; a provisional one where only the subject itself can tell the real one."""
    match NETWORKS[network].keys:
        case KeyForm.SAME:
            return key
        case KeyForm.LOCAL:
            return f"{network}:{service}/{key}"
        case KeyForm.PREFIXED:
            return f"{network}:{key}"


def ids_for(network: str, service: str, keys: Iterable[str]) -> dict[str, str]:
    """The same for many, by key."""
    if NETWORKS[network].keys is KeyForm.SAME:
        return {key: key for key in keys}
    return {key: id_for(network, service, key) for key in keys}


def key_in(network: str, known_id: str) -> str | None:
    """The key inside a global id; None where the id does not contain what a service calls it."""
    match NETWORKS[network].keys:
        case KeyForm.SAME:
            return known_id
        case KeyForm.LOCAL:
            return None
        case KeyForm.PREFIXED:
            return known_id.removeprefix(f"{network}:")


def is_provisional(known_id: str) -> bool:
    """Whether an id was made up of a service and its key, until the subject itself tells the real one."""
    return known_id.startswith(PROVISIONAL)


def tells_returns(network: str) -> bool:
    """Whether a stream says by itself that an account is back."""
    return NETWORKS[network].tells_returns

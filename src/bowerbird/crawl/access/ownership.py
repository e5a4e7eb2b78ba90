"""Whose secret may go where: a credential is shown to the servers it belongs to and to nobody else."""

from __future__ import annotations

from bowerbird.errors import CredentialError
from bowerbird.model import Credential, origin


def check_belongs(credential: Credential, address: str) -> None:
    """Raises `CredentialError` unless the credential belongs to the server at this address."""
    if not credential.home:
        raise unbound(credential)
    if not credential.belongs_to(address):
        raise foreign(credential, address)


def unbound(credential: Credential) -> CredentialError:
    return CredentialError(
        f"nobody has said which server the {credential.provider} credential {credential.name!r} belongs to, so it is sent to "
        "none",
        f"say it with: bowerbird credentials bind {credential.name} --server URL, where URL is the server that gave it out",
        code="credential_of_other_server",
    )


def foreign(credential: Credential, address: str) -> CredentialError:
    place = origin(address)
    if not place:
        return CredentialError(
            f"the credential {credential.name!r} is not sent to {address[:80]!r}, which is not a plain address of a server",
            "write it as https://host, and names of other scripts in their form xn--…",
            code="credential_of_other_server",
        )
    servers = " ".join(f"--server {each}" for each in dict.fromkeys((*credential.servers, place)))
    return CredentialError(
        f"the credential {credential.name!r} belongs to {' and '.join(credential.home)} and is not sent to {place}",
        f"name one of that server's own, or none. Only if {place} itself may know it: bowerbird credentials bind "
        f"{credential.name} {servers}",
        code="credential_of_other_server",
    )

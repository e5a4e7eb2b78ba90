"""Services by number: every key is stored with the service that uses it."""

from __future__ import annotations

from bowerbird.errors import StoreError
from bowerbird.model import Service
from bowerbird.ports import Transaction

_REGISTER = """
insert into services (name, provider, network, base) values (?, ?, ?, ?)
on conflict (name) do update set provider = excluded.provider, network = excluded.network, base = excluded.base
returning service
"""


async def register_service(tx: Transaction, service: Service, network: str) -> int:
    """Makes the service known, or brings its address up to date; answers its number."""
    row = await tx.fetch_one(_REGISTER, service.name, service.provider, network, service.base)
    if row is None:
        raise StoreError(f"the service {service.name!r} could not be registered", "check that the database is writable")
    return int(row["service"])


async def registered_service(tx: Transaction, name: str) -> tuple[int, str, str]:
    """Number, network and address of a registered service."""
    row = await tx.fetch_one("select service, network, base from services where name = ?", name)
    if row is None:
        raise StoreError(
            f"the service {name!r} is not in the database", "register it before saving its pages", code="unknown_name"
        )
    return int(row["service"]), str(row["network"]), str(row["base"])

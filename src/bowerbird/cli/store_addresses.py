"""Stores whose address lies in the vault: `vault:NAME` stands for it wherever a database is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from bowerbird.db.addresses import in_vault
from bowerbird.errors import CredentialError
from bowerbird.settings import load_settings

if TYPE_CHECKING:
    from bowerbird.flows.files.crawl_file import CrawlPlan
    from bowerbird.limits.vault import FileVault


def store_address(where: str, vault: FileVault | None = None) -> str:
    """The address of a database: as it is written, or as the vault keeps it."""
    name = in_vault(where)
    if name is None:
        return where
    from bowerbird.cli.commands.crawling.credentials import open_vault
    from bowerbird.limits.credentials import ADDRESS, DATABASE

    opened = vault or open_vault(load_settings())
    if name not in {each.name for each in opened.credentials() if each.provider == DATABASE}:
        raise CredentialError(
            f"{opened.path} holds no database {name!r}",
            f"add it with `bowerbird credentials add {name} --provider {DATABASE}`",
            code="unknown_credential",
        )
    return opened.secret(name).values[ADDRESS]


def read_plan(
    file: Path,
    seeds: Sequence[str] = (),
    vault: FileVault | None = None,
    name: str | None = None,
    *,
    may_lack_seeds: bool = False,
) -> CrawlPlan:
    """The crawl of a file, with the addresses of its databases looked up in the vault where it names them there."""
    from bowerbird.flows.files.crawl_file import read_crawl_file
    from bowerbird.vocabulary import vocabulary

    plan = read_crawl_file(file, vocabulary(), seeds, name, may_lack_seeds=may_lack_seeds)
    query = plan.seeds.query
    if query is not None and query.store:
        query = structs.replace(query, store=store_address(query.store, vault))
        plan = structs.replace(plan, seeds=structs.replace(plan.seeds, query=query))
    return structs.replace(plan, store=store_address(plan.store, vault))

"""Where `s3://…` leads. Keys and address come from where all S3 tools find them."""

from __future__ import annotations

from typing import Any

from bowerbird.errors import UserError
from bowerbird.export.needed import needed


def object_store(address: str, endpoint: str | None) -> tuple[Any, str]:
    """The file system of `s3://BUCKET/PREFIX`, and bucket and prefix."""
    prefix = address.removeprefix("s3://").rstrip("/")
    if not prefix.partition("/")[0]:
        raise UserError(f"{address} names no bucket", "write s3://BUCKET/FOLDER", code="invalid_address")
    options = {"endpoint_override": endpoint} if endpoint else {}
    return needed("pyarrow.fs", "an object store").S3FileSystem(**options, allow_bucket_creation=False), prefix

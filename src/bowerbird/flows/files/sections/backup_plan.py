"""`[backup]` of a crawl file: how often the store is copied, where to, and how many copies are kept."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct


class BackupPlan(Struct, frozen=True, kw_only=True):
    """`[backup]` of a crawl file."""

    every: timedelta
    folder: str
    keep: int = 7
    media: str = ""
    """Where media are copied too: a folder, or `s3://BUCKET/FOLDER`; empty: nowhere."""
    endpoint: str = ""
    """Of an S3 store that is not Amazon's."""

"""The lock on PostgreSQL that every page shares until its commit. Who must see pages in their order takes it alone."""

from __future__ import annotations

ALONE = 7254104
"""The lock that every page shares, and that who saves alone has for itself."""

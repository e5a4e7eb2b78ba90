"""What a page says instead of what was asked for."""

from __future__ import annotations

from bowerbird.errors import UserError


class NotFound(UserError):
    """What the address names is not in the store; answered with 404."""

    default_code = "not_found"

"""Reasons of refusals in Mastodon's words; the server's flavour may have others for them."""

from __future__ import annotations

NOT_FOUND = "Record not found"
NO_POST = "no such post"
"""Of a post by its id, and of what belongs to it; older releases say the same as of any record."""
UNKNOWN_NAME = "unknown name"
"""Of a look-up by name; Mastodon says the same as of any record."""
NEEDS_USER = "This method requires an authenticated user"
NO_ROUTE = "no such route"
"""Of a path that the server does not have; never said like that."""
WRONG_METHOD = "no such method"
"""Of a path that exists for another method only; never said like that."""

"""Mastodon and servers with a compatible API."""

from bowerbird.providers.mastodon.api import Mastodon

__all__ = ["Mastodon"]

"""Mastodon's streaming server."""

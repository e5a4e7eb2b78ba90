"""A Mastodon server's answers, read."""

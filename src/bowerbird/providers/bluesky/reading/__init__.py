"""Bluesky's answers, read."""

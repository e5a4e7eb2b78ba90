"""Stored payloads read again with today's parsers, and what that changes in their rows."""

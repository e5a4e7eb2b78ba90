"""Accounts: their numbers, profiles, tags, and rows that turn out to be one person."""

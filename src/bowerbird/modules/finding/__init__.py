"""Modules that find accounts which may belong, and have them asked about."""

"""Measures what bowerbird promises, one file per promise."""

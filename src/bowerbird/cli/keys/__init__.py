"""Secrets and servers as people give them on the command line."""

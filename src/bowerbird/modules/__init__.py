"""Periodic jobs of a crawl that make no calls to its services: downloads of media, backups."""

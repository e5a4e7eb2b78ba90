"""Streams whose server is hostile."""

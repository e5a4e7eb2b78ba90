"""The answers of the v1.1 API, read."""

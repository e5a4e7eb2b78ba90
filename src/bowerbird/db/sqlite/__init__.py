"""One SQLite file."""

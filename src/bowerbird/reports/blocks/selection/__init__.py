"""Which rows are wanted, and which are never shown."""

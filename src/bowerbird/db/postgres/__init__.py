"""PostgreSQL, for crawls on more than one machine."""

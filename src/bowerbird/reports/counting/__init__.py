"""How many: rows of large tables, posts by what became of them, anything by time, places."""

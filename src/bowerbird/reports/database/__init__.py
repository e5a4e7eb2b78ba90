"""The database itself: its tables and indexes with their growth, what runs in it now, what waits for what."""

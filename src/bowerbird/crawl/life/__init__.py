"""The life of a crawl over all its processes: its rows, its plan, recovery, its end."""

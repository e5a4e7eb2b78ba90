"""How things stand: crawls, what is stored, what waits, limits, streams, money, and a running crawl at one moment."""

"""One process of a crawl: who it is, its loop of calls, its supervision."""

"""The engine: a work source hands out calls, a worker makes them, a process runs both; streams, seeding, the life of a crawl."""

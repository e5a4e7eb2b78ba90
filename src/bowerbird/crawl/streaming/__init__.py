"""Live connections: one streamer holds one subscription, with its cursor, its gaps and its place in the query log."""

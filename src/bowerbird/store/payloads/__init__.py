"""Raw payloads beside the mapped items, compressed."""

"""The query language of the v2 dialect: searches, counts and rules of streams."""

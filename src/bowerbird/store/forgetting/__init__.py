"""Forgets people and posts on request, for good: their rows, and their names in what others wrote."""

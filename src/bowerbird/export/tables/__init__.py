"""Blocks of stored rows as Arrow batches, as rows and as CSV."""

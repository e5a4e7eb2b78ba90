"""The dataset card: a datasheet as Markdown and as a page, and its metadata for machines (Croissant)."""

"""What users write: flows, crawl files and their language; flows drawn as pictures; the built-in flows."""

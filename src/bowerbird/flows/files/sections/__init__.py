"""The sections of a crawl file, one file each."""

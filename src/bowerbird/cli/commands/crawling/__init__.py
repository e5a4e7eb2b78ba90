"""Commands: a crawl of weeks or months; one file each."""

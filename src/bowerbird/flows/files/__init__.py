"""What users write: flow files and crawl files, read into frozen objects with errors that name the line."""

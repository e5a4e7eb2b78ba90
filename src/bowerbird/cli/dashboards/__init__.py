"""The dashboard as commands open it: by itself, or beside a crawl in a process of its own."""

"""The modules of a crawl, put together: in a process that runs it, and by hand."""

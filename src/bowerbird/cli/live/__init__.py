"""A crawl as it runs, for those who watch: what is known (`glimpse`), how long (`pace`), how it looks (`panel`, `views`)."""

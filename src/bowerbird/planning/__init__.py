"""What a crawl will take, before anything is called: the crawl itself, rehearsed in virtual time on a scale model."""

"""What a crawl may be about: communities, places, keywords, and what accounts and posts are judged to be."""

"""A crawl's community while it runs: who is around whom, what that is worth, the third look, and what people say."""

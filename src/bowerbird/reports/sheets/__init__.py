"""One account or one post with all that is known of it: what its page shows."""

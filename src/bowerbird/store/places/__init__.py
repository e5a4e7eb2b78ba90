"""Where accounts and posts are."""

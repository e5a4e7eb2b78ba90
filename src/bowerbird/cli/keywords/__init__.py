"""What `bowerbird keywords` shows and does."""

"""What judges said of accounts and posts, kept with the evidence."""

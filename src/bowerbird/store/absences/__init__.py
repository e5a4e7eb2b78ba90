"""What is no longer to be had, whose word counts about it, and how content leaves the store."""

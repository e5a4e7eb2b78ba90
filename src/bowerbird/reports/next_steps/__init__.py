"""What a user can do next about a crawl, and with which command."""

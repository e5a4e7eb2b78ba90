"""What a user can do next about a crawl: the same answer at the end of a run, in `status`, and after `stop`."""

"""What `bowerbird serve` and `bowerbird worker` do: a crawl with many workers, with its database and without."""

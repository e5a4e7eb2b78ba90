"""What is looked at before a crawl starts, and by `bowerbird doctor`."""

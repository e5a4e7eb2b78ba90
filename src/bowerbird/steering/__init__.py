"""What people steer from a browser: crawl files that are made, processes that are started, seeds that change."""

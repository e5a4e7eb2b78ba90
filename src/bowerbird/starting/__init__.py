"""How a plan becomes a crawl: its services as lanes and streams, what a call takes, whose credentials, the first targets; and
what can be said of it before anybody is asked."""

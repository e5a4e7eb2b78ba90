"""What servers and credentials turn out to be: down, refused, without a route."""

"""One folder for each area of the dashboard; each lists its addresses with `routes(site)`."""

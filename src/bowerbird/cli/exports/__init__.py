"""What `export` and `query` show and write."""

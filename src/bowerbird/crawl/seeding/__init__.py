"""What a settled page adds to the frontier, by the edges of a flow."""

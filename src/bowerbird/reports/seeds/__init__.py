"""What the store says of seeds: chosen from it, or not found."""

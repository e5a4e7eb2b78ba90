"""What happens in the world, in the order of time."""

"""What `bowerbird community` shows."""

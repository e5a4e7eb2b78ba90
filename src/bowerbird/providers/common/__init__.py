"""What the readers and requests of several networks share."""

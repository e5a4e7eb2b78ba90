"""What a one-line command writes: rows, how far it is, whole files."""

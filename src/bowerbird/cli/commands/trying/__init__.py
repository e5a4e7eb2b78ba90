"""Commands: trying out and measuring; one file each."""

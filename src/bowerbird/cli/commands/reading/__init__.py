"""Commands: what a store tells; one file each."""

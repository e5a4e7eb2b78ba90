"""Commands: out of a store; one file each."""

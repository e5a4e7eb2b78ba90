"""Commands: looking after a store; one file each."""

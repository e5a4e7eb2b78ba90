"""What leaves a store: files for people and other programs."""

"""What somebody sees first: what runs, how fast and how complete, and what needs a person."""

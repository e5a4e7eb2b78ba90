"""How many answers are made at once, for how long they are kept, and how they reach those who watch."""

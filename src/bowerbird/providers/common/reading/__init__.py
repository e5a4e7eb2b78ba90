"""How answers and messages are read: what every network shares."""

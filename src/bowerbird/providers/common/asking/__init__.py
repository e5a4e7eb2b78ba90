"""How networks are asked: what every network shares."""

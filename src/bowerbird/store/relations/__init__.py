"""Who follows whom, who reacted to what, who is on which list."""

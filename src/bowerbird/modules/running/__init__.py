"""How modules run: which there are, when each is due, who runs it, and what came of it."""

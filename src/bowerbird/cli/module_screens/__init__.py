"""How modules, samples and audits look on the screen."""

"""An export from its first row to its manifest: files that appear whole, and that go on after an interruption."""

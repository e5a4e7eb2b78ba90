"""What a page must pass before it is saved: mended texts, bounds, quarantine."""

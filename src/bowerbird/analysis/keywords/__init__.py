"""What can be said of collected posts and their keywords: grades, seeds to begin with, terms that belong together."""

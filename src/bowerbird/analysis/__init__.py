"""What collected data say: estimates, language, place. Pure."""

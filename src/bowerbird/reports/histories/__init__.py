"""What is past: how accounts and posts changed, what is gone, and whom a name means."""

"""What is posted in the world, and how others react to it."""

"""What is stored, page by page in a stable order: users, posts, relations, ids."""

"""Who is connected with whom, as graphs in files."""

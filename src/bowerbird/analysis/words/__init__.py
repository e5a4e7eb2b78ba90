"""Words in what people write: where they are mentioned, how else they are spelled, how their numbers go with others. Pure."""

"""What an answer means for its tasks: retried, done, cut short, endless. Pure where it can be."""

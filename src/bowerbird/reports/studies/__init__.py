"""What collected data say together: cascades, overlap of sources, samples."""

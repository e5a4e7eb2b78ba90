"""Reports on cascades, overlap of sources, and samples."""

"""Takes out of earlier exports what the store has forgotten, deleted or been asked to leave since."""

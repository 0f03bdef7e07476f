"""Finding in a transcript, and everywhere."""

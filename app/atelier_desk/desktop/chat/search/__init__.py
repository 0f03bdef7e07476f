"""Search in a transcript, and everywhere."""

"""Convert streamed answers to replies."""

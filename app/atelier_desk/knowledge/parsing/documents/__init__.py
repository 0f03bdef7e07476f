"""Documents: their sections and links."""

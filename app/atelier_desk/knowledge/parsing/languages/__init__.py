"""One module per language or family of close languages."""

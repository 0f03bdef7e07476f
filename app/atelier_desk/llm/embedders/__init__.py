"""Embedders: the built-in one, sentence-transformers in a separate process, and remote servers."""

"""Embedders: the built-in one, sentence-transformers in a process of its own, and those of remote servers."""

"""The words of documents, read by a process of its own: see ``process``."""

"""Text extraction from documents, in a separate process: see ``process``."""

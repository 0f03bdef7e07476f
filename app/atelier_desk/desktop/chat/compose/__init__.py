"""Writing a message: the composer and its helpers."""

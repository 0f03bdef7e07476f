"""The full-text index of the history: a file beside the database, made from it and never the only copy of anything."""

"""The full-text index of the history: a file built from the database, never the only copy of anything."""

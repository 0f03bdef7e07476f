"""The folders that the agents of a workflow may use: granting them, taking them back, and whether they are trusted."""

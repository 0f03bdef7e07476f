"""The pane of what happens."""

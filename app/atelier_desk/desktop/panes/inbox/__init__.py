"""The pane of what waits for the person."""

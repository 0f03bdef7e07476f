"""The tasks pane."""

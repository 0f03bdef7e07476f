"""The memory pane."""

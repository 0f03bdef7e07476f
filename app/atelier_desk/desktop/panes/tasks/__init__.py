"""The pane of tasks."""

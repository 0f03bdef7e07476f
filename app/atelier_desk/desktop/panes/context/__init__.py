"""The pane of what a model was sent."""

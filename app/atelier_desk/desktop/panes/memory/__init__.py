"""The pane of memories."""

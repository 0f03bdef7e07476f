"""Teams for display: tree, timeline, replay."""

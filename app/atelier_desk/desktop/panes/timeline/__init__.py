"""The pane of a team's time line."""

"""The pane with the requests sent to models."""

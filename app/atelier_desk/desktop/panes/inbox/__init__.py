"""The inbox: what waits for the user."""

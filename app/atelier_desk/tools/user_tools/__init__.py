"""A user's own tool files: found and confirmed here, run in separate processes."""

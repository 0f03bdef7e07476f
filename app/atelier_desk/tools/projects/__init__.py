"""Section ``project_ops``: projects that agents can look things up in."""

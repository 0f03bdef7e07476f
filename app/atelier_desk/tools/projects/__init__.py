"""Section ``project_ops``: projects that agents can search."""

"""Section ``context_ops``: information about the working environment."""

"""Section ``shell_ops``: commands, git, scripts and packages."""

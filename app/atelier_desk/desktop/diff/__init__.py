"""Display of text diffs: inline or side by side, with syntax highlighting and changed words marked."""

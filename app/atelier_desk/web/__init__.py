"""Web access for agents: checked addresses, pages as Markdown, and search."""

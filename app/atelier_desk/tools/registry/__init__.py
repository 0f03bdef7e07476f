"""What tools exist: declaration, sections, the registry, loading modes, tools of MCP servers."""

"""Tools: the registry, the factory and every tool, one folder a section."""

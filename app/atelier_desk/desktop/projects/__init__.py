"""Projects on the screen: their list, search, graph and sources, in a window of their own."""

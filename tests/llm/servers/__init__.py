"""The fake servers, checked with the clients their makers publish: what those can read, ours must read."""

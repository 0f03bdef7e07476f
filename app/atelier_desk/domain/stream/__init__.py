"""Events that the engine sends while it works."""

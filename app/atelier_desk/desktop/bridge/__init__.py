"""Between the window's thread and the engine's: calls, events, background jobs."""

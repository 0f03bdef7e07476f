"""Parts of the main window: actions, layout, status, pages shown before the engine is open."""

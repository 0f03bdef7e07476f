"""First start: language, theme, a working model, and three examples."""

"""Command groups: one module each, which imports what it needs when it runs."""

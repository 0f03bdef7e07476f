"""Events of the journal."""

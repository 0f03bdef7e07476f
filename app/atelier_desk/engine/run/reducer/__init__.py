"""Pure parts: the state of a run, the effect of an event, and the next step."""

"""The runs of this process: starting, steering, answering, resuming."""

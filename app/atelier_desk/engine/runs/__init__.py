"""The runs of this process: starting, steering, answering, taking up again."""

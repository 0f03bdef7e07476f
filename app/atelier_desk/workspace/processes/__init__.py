"""Running commands: their environment, their limits, their output and their end."""

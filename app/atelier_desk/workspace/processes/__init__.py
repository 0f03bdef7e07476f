"""Run commands: environment, limits, output and termination."""

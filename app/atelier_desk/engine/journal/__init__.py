"""The journal of runs: commits, the bus they are published on, history, forks, and what a run inherits."""

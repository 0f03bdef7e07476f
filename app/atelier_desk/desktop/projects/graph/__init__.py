"""The graph of a project, to look around in: what is shown, where it lies, how it is drawn."""

"""Reading projects: the walk, the processes that parse, writing and relating what they found, and watching for changes."""

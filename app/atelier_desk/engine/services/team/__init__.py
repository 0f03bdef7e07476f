"""A team on the screen: its tree, its time line, its replay."""
